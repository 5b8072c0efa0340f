#include "common/local/unix_socket.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "common/util/messages/local.hpp"
#include "common/util/scope_exit.hpp"

namespace duofi::local {

namespace {

constexpr int kBacklog = 128;

struct Address {
    sockaddr_un storage{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr* pointer() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> make_address(const std::string& text) {
    Address address;
    // A path needs its closing zero.
    if (text.empty() || text.size() + (text[0] != '\0' ? 1 : 0) > sizeof(address.storage.sun_path))
        return fail(Errc::invalid_argument, messages::kServiceAddress, ENAMETOOLONG);
    address.storage.sun_family = AF_UNIX;
    std::memcpy(address.storage.sun_path, text.data(), text.size());
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + (text[0] != '\0' ? 1 : 0));
    return address;
}

Result<UniqueFd> make_socket() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return fail(Errc::system, messages::kServiceListen, errno);
    return socket;
}

Status bind_and_listen(int socket, const Address& address) {
    if (::bind(socket, address.pointer(), address.length) != 0 || ::listen(socket, kBacklog) != 0)
        return fail(Errc::system, messages::kServiceListen, errno);
    return {};
}

Result<UniqueFd> listen_at_path(const std::string& path) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random))
        return fail(Errc::system, messages::kServiceListen, errno);
    char name[32];
    std::snprintf(name, sizeof(name), "%s%016llx", kDraftPrefix.data(), static_cast<unsigned long long>(random));
    const std::string draft = path.substr(0, path.rfind('/') + 1) + name;
    DUOFI_ASSIGN(const Address address, make_address(draft));
    DUOFI_ASSIGN(UniqueFd socket, make_socket());
    const ScopeExit clean([&] { ::unlink(draft.c_str()); });
    DUOFI_TRY(bind_and_listen(socket.get(), address));
    if (::link(draft.c_str(), path.c_str()) != 0)
        return fail(Errc::system, messages::kServiceListen, errno == EEXIST ? EADDRINUSE : errno);
    return socket;
}

// Keeps one descriptor, closes the rest.
void take_descriptors(msghdr& header, UniqueFd* wanted) noexcept {
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            UniqueFd taken(fd);
            if (wanted != nullptr && !*wanted) *wanted = std::move(taken);
        }
    }
}

}  // namespace

Result<UniqueFd> listen_unix(const std::string& text) {
    DUOFI_ASSIGN(const Address address, make_address(text));
    if (text[0] != '\0') return listen_at_path(text);
    DUOFI_ASSIGN(UniqueFd socket, make_socket());
    DUOFI_TRY(bind_and_listen(socket.get(), address));
    return socket;
}

Result<UniqueFd> connect_unix(const std::string& text, const Deadline& deadline) {
    DUOFI_ASSIGN(const Address address, make_address(text));
    DUOFI_ASSIGN(UniqueFd socket, make_socket());
    while (::connect(socket.get(), address.pointer(), address.length) != 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN || deadline.passed()) return fail(Errc::system, messages::kServiceConnect, errno);
        ::poll(nullptr, 0, 1);  // nothing tells of a free place in a queue
    }
    if (!peer_is_same_user(socket.get())) return fail(Errc::system, messages::kServiceOtherUser, EPERM);
    return socket;
}

UniqueFd accept_unix(int listener) noexcept {
    UniqueFd client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client && !peer_is_same_user(client.get())) {
        client.reset();
        errno = EPERM;
    }
    return client;
}

bool peer_is_same_user(int socket) noexcept {
    ucred peer{};
    socklen_t length = sizeof(peer);
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

bool wait_readable(int socket, const Deadline& deadline) noexcept {
    pollfd entry{socket, POLLIN, 0};
    while (true) {
        const Nanoseconds left = std::min<Nanoseconds>((deadline.remaining() + kMillisecond - 1) / kMillisecond,
                                                       std::numeric_limits<int>::max());
        const int ready = ::poll(&entry, 1, static_cast<int>(left));
        if (ready > 0) return true;
        if (ready == 0 && deadline.passed()) return false;
        if (ready < 0 && errno != EINTR) return false;
    }
}

bool send_packet(int socket, std::span<const std::byte> packet, int descriptor) noexcept {
    iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (descriptor >= 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    }
    while (true) {
        const ssize_t sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        return sent == static_cast<ssize_t>(packet.size());
    }
}

Received receive_packet(int socket, std::span<std::byte> packet, UniqueFd* descriptor) noexcept {
    iovec part{packet.data(), packet.size()};
    constexpr std::size_t kMostDescriptors = 8;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t got = 0;
    do {
        got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Received::nothing_yet : Received::ended;
    take_descriptors(header, descriptor);
    const bool whole = got == static_cast<ssize_t>(packet.size()) && (header.msg_flags & MSG_TRUNC) == 0;
    return whole ? Received::packet : Received::ended;
}

}  // namespace duofi::local
