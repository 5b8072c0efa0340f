#include "common/bootstrap/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace duofi::bootstrap {
namespace {

UniqueFd open_stream(int family) {
    return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set_option(int fd, int level, int option, int value) noexcept {
    // A refused option costs speed or comfort, never correctness.
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

const sockaddr* raw(const SocketAddress& address) noexcept {
    return reinterpret_cast<const sockaddr*>(&address.storage);
}

/// Waits for one event; true when it came, false at the deadline.
bool wait_for(int fd, short events, const Deadline& deadline) noexcept {
    while (true) {
        pollfd entry{fd, events, 0};
        const int ready = ::poll(&entry, 1, poll_timeout_ms(deadline.remaining()));
        if (ready > 0) return true;
        if (ready == 0 && deadline.passed()) return false;
        if (ready < 0 && errno != EINTR) return false;
    }
}

/// TCP lets a client whose ephemeral port is the wanted one connect to itself when nobody listens.
bool is_self_connected(int fd) noexcept {
    SocketAddress here;
    SocketAddress there;
    here.length = there.length = sizeof here.storage;
    const bool known =
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&here.storage), &here.length) == 0 &&
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&there.storage), &there.length) == 0;
    return known && here.length == there.length &&
           std::memcmp(&here.storage, &there.storage, here.length) == 0;
}

bool is_again(int code) noexcept {
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

}  // namespace

std::uint16_t SocketAddress::port() const noexcept {
    if (storage.ss_family == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

void SocketAddress::set_port(std::uint16_t port) noexcept {
    if (storage.ss_family == AF_INET6)
        reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
    else
        reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
}

std::string to_string(const SocketAddress& address) {
    std::array<char, NI_MAXHOST> host{};
    const int code = ::getnameinfo(raw(address), address.length, host.data(), host.size(), nullptr,
                                   0, NI_NUMERICHOST);
    if (code != 0) return "unknown";
    const bool six = address.storage.ss_family == AF_INET6;
    const std::string name = six ? "[" + std::string(host.data()) + "]" : std::string(host.data());
    return name + ":" + std::to_string(address.port());
}

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
    addrinfo* found = nullptr;
    const std::string service = std::to_string(port);
    const char* node = host.empty() ? nullptr : host.c_str();
    if (::getaddrinfo(node, service.c_str(), &hints, &found) != 0)
        return fail(Errc::system, "getaddrinfo", EADDRNOTAVAIL);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
    std::vector<SocketAddress> addresses;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
        if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
        SocketAddress address;
        std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
        address.length = entry->ai_addrlen;
        addresses.push_back(address);
    }
    if (addresses.empty()) return fail(Errc::system, "getaddrinfo", EADDRNOTAVAIL);
    if (host.empty())
        std::stable_partition(addresses.begin(), addresses.end(), [](const SocketAddress& a) {
            return a.storage.ss_family == AF_INET6;
        });
    return addresses;
}

Result<UniqueFd> listen_on(SocketAddress& address) {
    UniqueFd fd = open_stream(address.storage.ss_family);
    if (!fd) return fail(Errc::system, "socket", errno);
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (address.storage.ss_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (::bind(fd.get(), raw(address), address.length) != 0)
        return fail(Errc::system, "bind", errno);
    if (::listen(fd.get(), SOMAXCONN) != 0) return fail(Errc::system, "listen", errno);
    address.length = sizeof address.storage;
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length) !=
        0)
        return fail(Errc::system, "getsockname", errno);
    return fd;
}

Result<UniqueFd> connect_to(const SocketAddress& address, const Deadline& deadline) {
    UniqueFd fd = open_stream(address.storage.ss_family);
    if (!fd) return fail(Errc::system, "socket", errno);
    set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
    if (::connect(fd.get(), raw(address), address.length) != 0 && errno != EINPROGRESS)
        return fail(Errc::system, "connect", errno);
    if (!wait_for(fd.get(), POLLOUT, deadline)) return fail(Errc::timed_out, "connect", ETIMEDOUT);
    int code = 0;
    socklen_t length = sizeof code;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = errno;
    if (code == 0 && is_self_connected(fd.get())) code = ECONNREFUSED;
    if (code != 0) return fail(Errc::system, "connect", code);
    return fd;
}

Status send_all(int fd, std::span<const std::byte> data, const Deadline& deadline) {
    while (!data.empty()) {
        const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            data = data.subspan(static_cast<std::size_t>(sent));
            continue;
        }
        if (sent < 0 && !is_again(errno)) return fail(Errc::remote, "send", errno);
        if (!wait_for(fd, POLLOUT, deadline)) return fail(Errc::timed_out, "send", ETIMEDOUT);
    }
    return {};
}

namespace {

/// One read, waiting for data until the deadline.
Result<std::size_t> receive_part(int fd, std::span<std::byte> data, const Deadline& deadline) {
    while (true) {
        const ssize_t got = ::recv(fd, data.data(), data.size(), 0);
        if (got > 0) return static_cast<std::size_t>(got);
        if (got == 0) return fail(Errc::remote, "recv", ECONNRESET);
        if (!is_again(errno)) return fail(Errc::remote, "recv", errno);
        if (!wait_for(fd, POLLIN, deadline)) return fail(Errc::timed_out, "recv", ETIMEDOUT);
    }
}

}  // namespace

Status receive_all(int fd, std::span<std::byte> data, const Deadline& deadline) {
    while (!data.empty()) {
        DUOFI_ASSIGN(const std::size_t got, receive_part(fd, data, deadline));
        data = data.subspan(got);
    }
    return {};
}

Status receive_some(int fd, std::vector<std::byte>& data, std::size_t most,
                    const Deadline& deadline) {
    const std::size_t before = data.size();
    data.resize(before + most);
    const auto got = receive_part(fd, std::span(data).subspan(before), deadline);
    data.resize(before + (got ? *got : 0));
    if (!got) return tl::unexpected(got.error());
    return {};
}

int poll_timeout_ms(Nanoseconds remaining) noexcept {
    const Nanoseconds capped = std::clamp<Nanoseconds>(remaining, 0, 3600 * kSecond);
    return static_cast<int>((capped + kMillisecond - 1) / kMillisecond);
}

}  // namespace duofi::bootstrap
