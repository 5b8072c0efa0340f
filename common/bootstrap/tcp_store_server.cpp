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
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/bootstrap/socket.hpp"
#include "common/bootstrap/store_clients.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

constexpr Nanoseconds kFlushTime = 1 * kSecond;          // last answers at the end
constexpr Nanoseconds kAcceptPause = 50 * kMillisecond;  // after EMFILE and the like

}  // namespace

/// Everything but `stopping` belongs to the thread once it runs.
struct TcpStoreServer::State {
    State(int size, Nanoseconds greeting_time) : clients(size, greeting_time) {}

    StoreClients clients;
    std::uint16_t port = 0;
    std::vector<UniqueFd> listeners;
    UniqueFd wake;
    Deadline accept_from{0};
    std::atomic<bool> stopping{false};
    std::thread thread;

    Status listen_at(const std::string& host, std::uint16_t wanted_port);
    Status start_thread();
    void run() noexcept;
    void poll_once(const Deadline& until);
    void accept_all(int listener);
};

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
        while (clients.unsent() && !flush_until.passed()) poll_once(flush_until);
    } catch (const std::bad_alloc&) {
        // Nothing can be said without memory; closing the sockets tells every rank.
        stopping.store(true, std::memory_order_release);
    }
    clients.close_all();
    listeners.clear();
}

void TcpStoreServer::State::poll_once(const Deadline& until) {
    std::vector<pollfd> set;
    set.push_back({wake.get(), POLLIN, 0});
    const short accepts = accept_from.passed() ? POLLIN : 0;
    for (const UniqueFd& listener : listeners) set.push_back({listener.get(), accepts, 0});
    const std::size_t first_client = set.size();
    clients.append_to(set);
    Nanoseconds wait = clients.wait_time(until.remaining());
    if (accepts == 0) wait = std::min(wait, accept_from.remaining());
    if (::poll(set.data(), set.size(), poll_timeout_ms(wait)) < 0) {
        if (errno != EINTR) accept_from = Deadline(kAcceptPause);
        return;
    }
    if (set[0].revents != 0) {
        std::uint64_t count = 0;
        static_cast<void>(::read(wake.get(), &count, sizeof count));
    }
    clients.handle(std::span(set).subspan(first_client));
    clients.sweep();
    for (std::size_t i = 0; i < listeners.size(); ++i)
        if (set[1 + i].revents != 0) accept_all(listeners[i].get());
}

void TcpStoreServer::State::accept_all(int listener) {
    while (!stopping.load(std::memory_order_relaxed)) {
        SocketAddress from;
        from.length = sizeof from.storage;
        UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr*>(&from.storage), &from.length,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd) {
            clients.add(std::move(fd), to_string(from));
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (errno == EINTR || errno == ECONNABORTED) continue;
        accept_from = Deadline(kAcceptPause);
        return;
    }
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

std::uint16_t TcpStoreServer::port() const noexcept {
    return state_->port;
}
int TcpStoreServer::dropped() const noexcept {
    return state_->clients.dropped();
}

}  // namespace duofi::bootstrap
