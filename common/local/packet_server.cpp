#include "common/local/packet_server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/local/unix_socket.hpp"

namespace duofi::local {

namespace {

constexpr Nanoseconds kShortage = kMillisecond;  // until the system may have descriptors or memory again

}  // namespace

Status PacketServer::start(const char* thread_name, const std::string& address) {
    DUOFI_ASSIGN(listener_, listen_unix(address));
    address_ = address;
    open_.store(true, std::memory_order_release);
    const Status started = thread_.start(thread_name, [this] { run(); });
    if (!started) close_door();
    return started;
}

void PacketServer::close_door() noexcept {
    if (in_child() || !open_.exchange(false, std::memory_order_acq_rel)) return;
    if (address_[0] != '\0') ::unlink(address_.c_str());
    thread_.wake();
}

void PacketServer::stop() noexcept {
    close_door();
    thread_.stop();
    if (!in_child()) {
        // A forked child may have copies of the descriptors, which would keep clients waiting.
        ::shutdown(listener_.get(), SHUT_RDWR);
        for (Client& client : clients_) end(client);
    }
    clients_.clear();
    listener_.reset();
}

void PacketServer::run() {
    std::vector<pollfd> waited;
    while (!thread_.stopping()) {
        const bool open = open_.load(std::memory_order_acquire);
        // poll ignores negative descriptors.
        waited.assign({{thread_.alarm(), POLLIN, 0}, {open ? listener_.get() : -1, POLLIN, 0}});
        for (const Client& client : clients_) waited.push_back({client.socket.get(), POLLIN, 0});
        if (::poll(waited.data(), waited.size(), patience_ms()) < 0) {
            if (errno != EINTR) thread_.pause(kShortage);
            continue;
        }
        if (waited[0].revents != 0) thread_.silence();
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            Client& client = clients_[i];
            const bool spoke = waited[i + 2].revents != 0;
            const bool stays = spoke ? handler_.answer(client) : client.kept || !client.silent_until.passed();
            if (!stays) end(client);
        }
        std::erase_if(clients_, [](const Client& client) { return !client.socket; });
        if (waited[1].revents != 0) admit();
    }
}

// Until the first client that has asked for nothing yet is given up.
int PacketServer::patience_ms() const noexcept {
    Nanoseconds least = -1;
    for (const Client& client : clients_)
        if (!client.kept && (least < 0 || client.silent_until.remaining() < least))
            least = client.silent_until.remaining();
    return least < 0 ? -1 : static_cast<int>(least / kMillisecond + 1);
}

void PacketServer::admit() {
    UniqueFd client = accept_unix(listener_.get());
    if (client && clients_.size() < most_) clients_.push_back({std::move(client)});
    // Out of descriptors or memory: the same client would wake us at once, for ever.
    else if (!client && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        thread_.pause(kShortage);
}

void PacketServer::end(Client& client) noexcept {
    ::shutdown(client.socket.get(), SHUT_RDWR);
    client.socket.reset();
    handler_.left(client);
}

}  // namespace duofi::local
