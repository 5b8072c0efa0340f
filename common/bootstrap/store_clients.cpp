#include "common/bootstrap/store_clients.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

constexpr std::size_t kMostStrangers = 64;  // connected, no hello yet; the oldest goes first
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kMostOutput = 4 * wire::kMaxBodyBytes;  // of a client that does not read

void consume(Bytes& bytes, std::size_t count) {
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void StoreClients::add(UniqueFd fd, std::string address) {
    Client& client = clients_.emplace_back(greeting_time_);
    client.fd = std::move(fd);
    client.address = std::move(address);
    limit_strangers();
}

void StoreClients::append_to(std::vector<pollfd>& set) const {
    for (const Client& client : clients_) {
        const bool writes = client.output_sent < client.output.size();
        set.push_back({client.fd.get(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), 0});
    }
}

void StoreClients::handle(std::span<const pollfd> events) {
    auto client = clients_.begin();
    for (const pollfd& event : events) {
        if ((event.revents & POLLOUT) != 0) flush(*client);
        if ((event.revents & (POLLIN | POLLERR | POLLHUP)) != 0) read_from(*client);
        ++client;
    }
}

Nanoseconds StoreClients::wait_time(Nanoseconds longest) const {
    for (const Client& client : clients_)
        if (client.rank == kStranger) longest = std::min(longest, client.hello_by.remaining());
    return longest;
}

void StoreClients::limit_strangers() {
    std::size_t strangers = 0;
    for (const Client& client : clients_)
        if (client.rank == kStranger && !client.closed) ++strangers;
    if (strangers <= kMostStrangers) return;
    for (Client& client : clients_) {
        if (client.rank != kStranger || client.closed) continue;
        drop(client, "too many clients without a greeting");
        return;
    }
}

void StoreClients::read_from(Client& client) {
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

void StoreClients::take_input(Client& client) {
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
        table_.handle(client.rank, std::move(*request), answers);
        answer(answers);
    }
}

void StoreClients::take_hello(Client& client) {
    if (!wire::may_be_hello(client.input)) {
        drop(client, "not a rank of ours");
        return;
    }
    const auto hello = wire::decode_hello(client.input);
    if (!hello) return;
    consume(client.input, wire::kHelloBytes);
    const int rank =
        hello->rank < static_cast<std::uint32_t>(size_) ? static_cast<int>(hello->rank) : kStranger;
    const char* why = nullptr;
    if (hello->version != wire::kVersion)
        why = "other version";
    else if (hello->size != static_cast<std::uint32_t>(size_) || rank == kStranger)
        why = "other number of ranks";
    else if (client_of(rank) != nullptr)
        why = "rank is taken";
    wire::Response response;
    response.rank = size_;
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
    dropped_.fetch_add(1, std::memory_order_relaxed);
}

StoreClients::Client* StoreClients::client_of(int rank) {
    for (Client& client : clients_)
        if (client.rank == rank && !client.closed) return &client;
    return nullptr;
}

void StoreClients::answer(const Answers& answers) {
    for (const auto& [rank, response] : answers)
        if (Client* client = client_of(rank)) queue(*client, response);
}

void StoreClients::queue(Client& client, const wire::Response& response) {
    const Bytes bytes = wire::encode(response);
    client.output.insert(client.output.end(), bytes.begin(), bytes.end());
    flush(client);
    if (!client.closed && client.output.size() - client.output_sent > kMostOutput)
        client.broken = "does not read its answers";
}

void StoreClients::flush(Client& client) {
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

void StoreClients::drop(Client& client, const char* why) {
    log::info(log::init, messages::kStoreDropped, client.address, why);
    dropped_.fetch_add(1, std::memory_order_relaxed);
    lost(client);
}

void StoreClients::lost(Client& client) {
    if (std::exchange(client.closed, true)) return;
    client.output.clear();
    client.output_sent = 0;
    if (client.rank == kStranger || client.farewell) return;
    log::warn(log::all, messages::kStoreRankLost, client.rank, client.address);
    Answers answers;
    table_.lose(client.rank, answers);
    answer(answers);
}

void StoreClients::sweep() {
    for (Client& client : clients_) {
        if (client.closed) continue;
        if (client.rank == kStranger && client.hello_by.passed()) client.broken = "silent";
        if (client.broken != nullptr) drop(client, client.broken);
    }
    clients_.remove_if([](const Client& client) { return client.closed; });
}

bool StoreClients::unsent() const {
    return std::any_of(clients_.begin(), clients_.end(), [](const Client& client) {
        return !client.closed && client.output_sent < client.output.size();
    });
}

}  // namespace duofi::bootstrap
