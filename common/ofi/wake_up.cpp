// How a quiet endpoint is woken: by the descriptor of its queue where the provider has one, else by a bell, a datagram
// socket of this node that others ring when they send after a pause.
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/ofi/endpoint.hpp"

namespace duofi::ofi {

namespace {

constexpr char kBellPrefix[] = "duofi-bell:";
// Shorter than the time that a service thread stays awake after traffic.
constexpr Nanoseconds kQuietBeforeRing = 100 * kMillisecond;

/// The bell's address follows from the endpoint's: nobody has to be told. Abstract, so nothing is left in a file system.
socklen_t bell_address(const EndpointName& name, sockaddr_un& out) noexcept {
    static_assert(sizeof(kBellPrefix) + EndpointName::kMaxBytes < sizeof(out.sun_path));
    out = {};
    out.sun_family = AF_UNIX;
    char* place = out.sun_path + 1;
    std::memcpy(place, kBellPrefix, sizeof(kBellPrefix) - 1);
    std::memcpy(place + sizeof(kBellPrefix) - 1, name.bytes.data(), name.length);
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof(kBellPrefix) + name.length);
}

}  // namespace

// With a wait descriptor if it is asked for and can be had.
int Endpoint::open_queue(bool can_sleep) noexcept {
    fi_cq_attr attributes{};
    attributes.format = FI_CQ_FORMAT_TAGGED;
    attributes.size = domain_->settings().cq_size;
    attributes.wait_obj = can_sleep ? FI_WAIT_FD : FI_WAIT_NONE;
    const auto open = [&](fid_cq** cq) { return fi_cq_open(domain_->fid(), &attributes, cq, nullptr); };
    int code = open_into(cq_, open);
    if (code != 0 && can_sleep) {
        attributes.wait_obj = FI_WAIT_NONE;
        return open_into(cq_, open);
    }
    int descriptor = -1;
    queue_wakes_ = code == 0 && can_sleep && fi_control(&cq_->fid, FI_GETWAIT, &descriptor) == 0 && descriptor >= 0;
    if (queue_wakes_) wait_fd_ = descriptor;
    return code;
}

void Endpoint::open_bell() noexcept {
    sockaddr_un address;
    const socklen_t length = bell_address(name_, address);
    UniqueFd bell(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!bell || ::bind(bell.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return;
    bell_ = std::move(bell);
    wait_fd_ = bell_.get();
}

void Endpoint::rouse(Peer& peer) noexcept {
    if (!bell_) return;
    const Nanoseconds now = tick_time();
    const bool quiet = now - peer.roused_at > kQuietBeforeRing;
    if (!quiet) return;
    peer.roused_at = now;
    sockaddr_un address;
    const socklen_t length = bell_address(peer.name, address);
    ::sendto(bell_.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length);
}

bool Endpoint::arm() noexcept {
    if (wait_descriptor() < 0) return false;
    const std::uint64_t before = completions_;
    if (queue_wakes_) {
        // Only a read that really waits resets the descriptor everywhere. This one is at most as long as the shortest
        // time there is, and the endpoint has been quiet for a while.
        constexpr int kShortestWait = 1;  // ms
        fi_cq_tagged_entry entries[kMaxBatch];
        const ssize_t got =
            take_in([&] { return fi_cq_sread(cq_.get(), entries, kMaxBatch, nullptr, kShortestWait); });
        if (got > 0) dispatch({entries, static_cast<std::size_t>(got)});
        if (got == -FI_EAVAIL) drain_error();
        struct fid* queue = &cq_->fid;
        return completions_ == before && fi_trywait(domain_->fabric(), &queue, 1) == 0;
    }
    char ring = 0;
    while (::recv(bell_.get(), &ring, 1, MSG_DONTWAIT) >= 0) {}
    poll();
    return completions_ == before;
}

}  // namespace duofi::ofi
