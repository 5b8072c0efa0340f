#include "tools/duofi/pair_channel.hpp"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace duofi::tool {
namespace {
constexpr std::size_t kLongestMessage = 65536;
}

Result<std::pair<PairChannel, PairChannel>> PairChannel::create() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return fail(Errc::system, "socketpair", errno);
    return std::pair{PairChannel(UniqueFd(ends[0])), PairChannel(UniqueFd(ends[1]))};
}

Status PairChannel::send(std::span<const std::byte> message) {
    const ssize_t sent = ::send(fd_.get(), message.data(), message.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(message.size())) return {};
    return fail(Errc::remote, "control message to the other process", errno);
}

Result<std::vector<std::byte>> PairChannel::receive(const Deadline& deadline, const Idle& idle) {
    std::vector<std::byte> message(kLongestMessage);
    for (;;) {
        const ssize_t got = ::recv(fd_.get(), message.data(), message.size(), MSG_DONTWAIT);
        if (got > 0) {
            message.resize(static_cast<std::size_t>(got));
            return message;
        }
        if (got == 0) return fail(Errc::remote, "the other process ended", ECONNRESET);
        if (errno != EAGAIN && errno != EINTR) return fail(Errc::system, "recv", errno);
        if (deadline.passed()) return fail(Errc::timed_out, "control message");
        if (idle) DUOFI_TRY(idle());
        ::sched_yield();
    }
}

}  // namespace duofi::tool
