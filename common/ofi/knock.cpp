#include "common/ofi/knock.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace duofi::ofi {

namespace {

constexpr Nanoseconds kPatience = 10 * kSecond;

// Family of a name that is a socket's address, else AF_UNSPEC.
sa_family_t family_of(const EndpointName& name) noexcept {
    sa_family_t family = AF_UNSPEC;
    std::memcpy(&family, name.bytes.data(), sizeof(family));
    if (family == AF_INET && name.length == sizeof(sockaddr_in)) return family;
    if (family == AF_INET6 && name.length == sizeof(sockaddr_in6)) return family;
    return AF_UNSPEC;
}

Door door_of(int error) noexcept {
    if (error == 0) return Door::open;
    return error == ECONNREFUSED ? Door::refused : Door::silent;
}

}  // namespace

Door Knock::start(const EndpointName& name) noexcept {
    const sa_family_t family = family_of(name);
    if (family == AF_UNSPEC) return Door::none;
    socket_.reset(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_) return Door::silent;
    sockaddr_storage address{};
    std::memcpy(&address, name.bytes.data(), name.length);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), name.length) == 0) return Door::open;
    return errno == EINPROGRESS ? Door::unknown : door_of(errno);
}

Door Knock::ask(const EndpointName& name, Nanoseconds now) noexcept {
    Door answer = Door::unknown;
    if (!socket_) {
        asked_at_ = now;
        answer = start(name);
    } else if (pollfd entry{socket_.get(), POLLOUT, 0}; ::poll(&entry, 1, 0) == 1) {
        int error = 0;
        socklen_t length = sizeof(error);
        if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
        answer = door_of(error);
    } else if (now - asked_at_ >= kPatience) {
        answer = Door::silent;
    }
    if (answer != Door::unknown) socket_.reset();
    return answer;
}

}  // namespace duofi::ofi
