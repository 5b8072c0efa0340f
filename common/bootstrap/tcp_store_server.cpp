// The serving side of the TCP store: one thread, one poll loop, no call that can wait for a client.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/bootstrap/socket.hpp"
#include "common/bootstrap/store_table.hpp"
#include "common/bootstrap/store_wire.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

constexpr Nanoseconds kFlushTime = 1 * kSecond;          // last answers at the end
constexpr Nanoseconds kAcceptPause = 50 * kMillisecond;  // after EMFILE and the like
constexpr std::size_t kMostStrangers = 64;               // connected, no hello yet; the oldest goes first
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMostOutput = 4 * wire::kMaxBodyBytes;  // of a client that does not read
constexpr int kStranger = -1;

struct Client {
    explicit Client(Nanoseconds greeting_time) : hello_by(greeting_time) {}
    UniqueFd fd;
    std::string address;
    int rank = kStranger;
    Deadline hello_by;
    Bytes input;
    Bytes output;
    std::size_t output_sent = 0;
    bool ends = false;       // close once the output is out
    bool closed = false;
    bool farewell = false;
    const char* broken = nullptr;  ///< why the next sweep drops it
};

}  // namespace

/// Everything but `stopping` and `dropped` belongs to the thread.
struct TcpStoreServer::State {
    State(int ranks, Nanoseconds time) : size(ranks), greeting_time(time), table(ranks) {}

    int size;
    Nanoseconds greeting_time;
    std::uint16_t port = 0;
    StoreTable table;
    std::vector<UniqueFd> listeners;
    UniqueFd wake;
    std::list<Client> clients;
    Deadline accept_from{0};
    std::atomic<int> dropped{0};
    std::atomic<bool> stopping{false};
    std::thread thread;

    Status listen_at(const std::string& host, std::uint16_t wanted_port);
    Status start_thread();
    void run() noexcept;
    void poll_once(const Deadline& until);
    void accept_all(int listener);
    void read_from(Client& client);
    void take_input(Client& client);
    void take_hello(Client& client);
    void answer(const Answers& answers);
    void queue(Client& client, const wire::Response& response);
    void flush(Client& client);
    void drop(Client& client, const char* why);
    void lost(Client& client);
    void limit_strangers();
    void sweep();
    [[nodiscard]] Client* client_of(int rank);
    [[nodiscard]] bool unsent() const;
};

namespace {

void consume(Bytes& bytes, std::size_t count) {
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

Status TcpStoreServer::State::listen_at(const std::string& host, std::uint16_t wanted_port) {
    wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return fail(Errc::system, "eventfd", errno);
    DUOFI_ASSIGN(std::vector<SocketAddress> addresses, resolve(host, wanted_port));
    Error last{Errc::system, EADDRNOTAVAIL, "bind"};
    for (SocketAddress& address : addresses) {
        if (port != 0) address.set_port(port);
        auto listener = listen_on(address);
        if (!listener) {
            last = listener.error();
            continue;
        }
        port = address.port();
        listeners.push_back(std::move(*listener));
    }
    // One address is enough: an IPv6 wildcard takes IPv4 too, and then the IPv4 one is in use.
    if (listeners.empty()) return tl::unexpected(last);
    return {};
}

/// Signals stay with the threads of the caller.
Status TcpStoreServer::State::start_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    Status status;
    try {
        thread = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
        status = fail(Errc::system, "thread", error.code().value());
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return status;
}

void TcpStoreServer::State::run() noexcept {
    try {
        while (!stopping.load(std::memory_order_acquire)) poll_once(Deadline(kSecond));
        const Deadline flush_until(kFlushTime);
        while (unsent() && !flush_until.passed()) poll_once(flush_until);
    } catch (const std::bad_alloc&) {
        // Nothing can be said without memory; closing the sockets tells every rank.
        stopping.store(true, std::memory_order_release);
    }
    clients.clear();
    listeners.clear();
}

void TcpStoreServer::State::poll_once(const Deadline& until) {
    std::vector<pollfd> set;
    set.push_back({wake.get(), POLLIN, 0});
    const short accepts = accept_from.passed() ? POLLIN : 0;
    for (const UniqueFd& listener : listeners) set.push_back({listener.get(), accepts, 0});
    Nanoseconds wait = until.remaining();
    if (accepts == 0) wait = std::min(wait, accept_from.remaining());
    std::vector<Client*> polled;
    for (Client& client : clients) {
        const bool writes = client.output_sent < client.output.size();
        set.push_back({client.fd.get(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), 0});
        polled.push_back(&client);
        if (client.rank == kStranger) wait = std::min(wait, client.hello_by.remaining());
    }
    if (::poll(set.data(), set.size(), poll_timeout_ms(wait)) < 0 && errno != EINTR) return;
    if (set[0].revents != 0) {
        std::uint64_t count = 0;
        static_cast<void>(::read(wake.get(), &count, sizeof count));
    }
    const std::size_t first_client = 1 + listeners.size();
    for (std::size_t i = 0; i < polled.size(); ++i) {
        const short events = set[first_client + i].revents;
        if ((events & POLLOUT) != 0) flush(*polled[i]);
        if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) read_from(*polled[i]);
    }
    for (std::size_t i = 0; i < listeners.size(); ++i)
        if (set[1 + i].revents != 0) accept_all(listeners[i].get());
    sweep();
}

void TcpStoreServer::State::accept_all(int listener) {
    while (!stopping.load(std::memory_order_relaxed)) {
        SocketAddress from;
        from.length = sizeof from.storage;
        Client client(greeting_time);
        client.fd.reset(::accept4(listener, reinterpret_cast<sockaddr*>(&from.storage),
                                  &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!client.fd) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) return;
            if (errno == EINTR || errno == ECONNABORTED) continue;
            accept_from = Deadline(kAcceptPause);
            return;
        }
        client.address = to_string(from);
        clients.push_back(std::move(client));
        limit_strangers();
    }
}

void TcpStoreServer::State::limit_strangers() {
    std::size_t strangers = 0;
    for (const Client& client : clients)
        if (client.rank == kStranger && !client.closed) ++strangers;
    if (strangers <= kMostStrangers) return;
    for (Client& client : clients) {
        if (client.rank != kStranger || client.closed) continue;
        drop(client, "too many clients without a greeting");
        return;
    }
}

void TcpStoreServer::State::read_from(Client& client) {
    if (client.closed) return;
    const std::size_t before = client.input.size();
    client.input.resize(before + kReadBytes);
    const ssize_t got = ::recv(client.fd.get(), client.input.data() + before, kReadBytes, 0);
    client.input.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got > 0) {
        take_input(client);
        return;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    lost(client);
}

void TcpStoreServer::State::take_input(Client& client) {
    if (client.rank == kStranger) take_hello(client);
    while (!client.closed && !client.ends && client.rank != kStranger &&
           client.input.size() >= wire::kFrameHeaderBytes) {
        const std::span<const std::byte> bytes(client.input);
        const auto body = wire::body_length(bytes.first<wire::kFrameHeaderBytes>());
        if (!body) {
            drop(client, "message over the limit");
            return;
        }
        const std::size_t whole = wire::kFrameHeaderBytes + *body;
        if (bytes.size() < whole) return;
        auto request = wire::decode_request(bytes.first(whole));
        consume(client.input, whole);
        if (!request) {
            drop(client, "malformed message");
            return;
        }
        client.farewell = request->op == wire::Op::farewell;
        Answers answers;
        table.handle(client.rank, std::move(*request), answers);
        answer(answers);
    }
}

void TcpStoreServer::State::take_hello(Client& client) {
    if (!wire::may_be_hello(client.input)) {
        drop(client, "not a rank of ours");
        return;
    }
    const auto hello = wire::decode_hello(client.input);
    if (!hello) return;
    consume(client.input, wire::kHelloBytes);
    const int rank = hello->rank < static_cast<std::uint32_t>(size) ? static_cast<int>(hello->rank)
                                                                    : kStranger;
    const char* why = nullptr;
    if (hello->version != wire::kVersion)
        why = "other version";
    else if (hello->size != static_cast<std::uint32_t>(size) || rank == kStranger)
        why = "other number of ranks";
    else if (client_of(rank) != nullptr)
        why = "rank is taken";
    wire::Response response;
    response.rank = size;
    if (why == nullptr) {
        client.rank = rank;
        queue(client, response);
        return;
    }
    response.state = wire::State::bad_hello;
    response.value.assign(as_value(why).begin(), as_value(why).end());
    client.ends = true;
    queue(client, response);
    log::info(log::init, messages::kStoreDropped, client.address, why);
    dropped.fetch_add(1, std::memory_order_relaxed);
}

Client* TcpStoreServer::State::client_of(int rank) {
    for (Client& client : clients)
        if (client.rank == rank && !client.closed) return &client;
    return nullptr;
}

void TcpStoreServer::State::answer(const Answers& answers) {
    for (const auto& [rank, response] : answers)
        if (Client* client = client_of(rank)) queue(*client, response);
}

void TcpStoreServer::State::queue(Client& client, const wire::Response& response) {
    const Bytes bytes = wire::encode(response);
    client.output.insert(client.output.end(), bytes.begin(), bytes.end());
    flush(client);
    if (!client.closed && client.output.size() - client.output_sent > kMostOutput)
        client.broken = "does not read its answers";
}

void TcpStoreServer::State::flush(Client& client) {
    while (!client.closed && client.output_sent < client.output.size()) {
        const ssize_t sent = ::send(client.fd.get(), client.output.data() + client.output_sent,
                                    client.output.size() - client.output_sent, MSG_NOSIGNAL);
        if (sent <= 0) return;  // full, or broken: then reading tells
        client.output_sent += static_cast<std::size_t>(sent);
    }
    client.output.clear();
    client.output_sent = 0;
    if (client.ends && !client.closed) {
        static_cast<void>(::shutdown(client.fd.get(), SHUT_WR));
        client.closed = true;
    }
}

void TcpStoreServer::State::drop(Client& client, const char* why) {
    log::info(log::init, messages::kStoreDropped, client.address, why);
    dropped.fetch_add(1, std::memory_order_relaxed);
    lost(client);
}

void TcpStoreServer::State::lost(Client& client) {
    if (std::exchange(client.closed, true)) return;
    client.output.clear();
    client.output_sent = 0;
    if (client.rank == kStranger || client.farewell) return;
    log::warn(log::all, messages::kStoreRankLost, client.rank, client.address);
    Answers answers;
    table.lose(client.rank, answers);
    answer(answers);
}

void TcpStoreServer::State::sweep() {
    for (Client& client : clients) {
        if (client.closed) continue;
        if (client.rank == kStranger && client.hello_by.passed()) client.broken = "silent";
        if (client.broken != nullptr) drop(client, client.broken);
    }
    clients.remove_if([](const Client& client) { return client.closed; });
}

bool TcpStoreServer::State::unsent() const {
    return std::any_of(clients.begin(), clients.end(), [](const Client& client) {
        return !client.closed && client.output_sent < client.output.size();
    });
}

TcpStoreServer::TcpStoreServer(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::start(const std::string& host,
                                                              std::uint16_t port, int size,
                                                              Nanoseconds greeting_time) {
    if (size < 1) return fail(Errc::invalid_argument, "start");
    auto state = std::make_unique<State>(size, greeting_time);
    if (const Status listening = state->listen_at(host, port); !listening) {
        const int code = listening.error().provider_errno;
        log::warn(log::all, messages::kStoreListenFailed, host, port, code, std::strerror(code));
        return tl::unexpected(listening.error());
    }
    log::info(log::init, messages::kStoreServing, size, state->port);
    DUOFI_TRY(state->start_thread());
    return std::unique_ptr<TcpStoreServer>(new TcpStoreServer(std::move(state)));
}

TcpStoreServer::~TcpStoreServer() {
    state_->stopping.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    static_cast<void>(::write(state_->wake.get(), &one, sizeof one));
    if (state_->thread.joinable()) state_->thread.join();
}

std::uint16_t TcpStoreServer::port() const noexcept { return state_->port; }
int TcpStoreServer::dropped() const noexcept {
    return state_->dropped.load(std::memory_order_relaxed);
}

}  // namespace duofi::bootstrap
