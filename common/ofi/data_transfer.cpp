// Large transfers: the provider works on the caller's memory. Tagged ones need a receive at the other side, one-sided
// ones name the peer's memory.
#include <rdma/fi_rma.h>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/errors.hpp"

namespace duofi::ofi {

namespace {

// FI_OPT_INJECT_RMA_SIZE of headers from 1.22 on (net contract 4.9).
constexpr int kInjectRmaSize = 18;

bool refuses_flags(ssize_t code) noexcept {
    return code == -FI_EOPNOTSUPP || code == -FI_ENOSYS || code == -FI_EBADFLAGS || code == -FI_EINVAL;
}

}  // namespace

// What a provider says to a post that moves data: taken, not now, or the peer is out of reach.
Posted Endpoint::data_posted(Peer& peer, ssize_t code) noexcept {
    if (code == 0) {
        peer.blocked_since = 0;
        ++peer.data_in_flight;
        return Posted::yes;
    }
    if (code == -FI_EAGAIN || code == -FI_ENOMEM) {
        if (peer.blocked_since == 0) peer.blocked_since = now_ns();
        return Posted::again;
    }
    lose_peer(peer, error_text(code));
    return Posted::lost;
}

Posted Endpoint::post_tagged_send(Peer& peer, const void* data, std::size_t size, void* descriptor,
                                  std::uint64_t tag, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    if (peer.data_in_flight >= kMaxInFlight) return Posted::again;
    return data_posted(
        peer, post([&] { return fi_tsend(ep_.get(), data, size, descriptor, peer.address, tag, &operation.context); }));
}

Posted Endpoint::post_tagged_receive(Peer& peer, void* data, std::size_t size, void* descriptor,
                                     std::uint64_t tag, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    const ssize_t code = take_in(
        [&] { return fi_trecv(ep_.get(), data, size, descriptor, FI_ADDR_UNSPEC, tag, 0, &operation.context); });
    if (code == 0) return Posted::yes;
    if (code == -FI_EAGAIN || code == -FI_ENOMEM) return Posted::again;  // shm: its receives are used up
    lose_peer(peer, error_text(code));
    return Posted::lost;
}

Posted Endpoint::post_write(Peer& peer, const void* data, std::size_t size, void* descriptor,
                            std::uint64_t address, std::uint64_t key, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    return data_posted(peer, post([&] {
        return fi_write(ep_.get(), data, size, descriptor, peer.address, address, key, &operation.context);
    }));
}

Posted Endpoint::post_written(Peer& peer, const void* data, std::size_t size, void* descriptor, std::uint64_t address,
                              std::uint64_t key, std::uint32_t word, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    if (peer.data_in_flight >= kMaxInFlight) return Posted::again;
    const std::uint64_t told = carries_sizes_ ? static_cast<std::uint64_t>(size) << 32 | word : word;
    return data_posted(peer, post([&] {
        return fi_writedata(ep_.get(), data, size, descriptor, told, peer.address, address, key, &operation.context);
    }));
}

Posted Endpoint::post_placed_write(Peer& peer, const void* data, std::size_t size, void* descriptor,
                                   std::uint64_t address, std::uint64_t key, bool inject,
                                   Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    const iovec bytes{const_cast<void*>(data), size};
    const fi_rma_iov target{address, size, key};
    const fi_msg_rma message{&bytes, &descriptor, 1, peer.address, &target, 1, &operation.context, 0};
    const std::uint64_t flags = FI_COMPLETION | (inject ? FI_INJECT : 0);
    bool& tells = inject ? injects_tell_placed_ : writes_tell_placed_;
    const auto write = [&](std::uint64_t how) { return post([&] { return fi_writemsg(ep_.get(), &message, how); }); };
    ssize_t code = tells ? write(flags | FI_DELIVERY_COMPLETE) : -FI_EOPNOTSUPP;
    if (refuses_flags(code)) {
        code = write(flags);
        if (!refuses_flags(code)) tells = false;  // it was the flag, not the write
    }
    return data_posted(peer, code);
}

std::size_t Endpoint::inject_limit() const noexcept {
    std::size_t limit = domain_->info()->tx_attr->inject_size;
    std::size_t told = 0, length = sizeof(told);
    const bool known = fi_version() >= FI_VERSION(1, 22);
    if (known && fi_getopt(&ep_->fid, FI_OPT_ENDPOINT, kInjectRmaSize, &told, &length) == 0) limit = told;
    return limit;
}

Posted Endpoint::post_read(Peer& peer, void* data, std::size_t size, void* descriptor, std::uint64_t address,
                           std::uint64_t key, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    const Posted posted = data_posted(peer, post([&] {
        return fi_read(ep_.get(), data, size, descriptor, peer.address, address, key, &operation.context);
    }));
    if (posted == Posted::yes) ++reads_in_flight_;
    return posted;
}

}  // namespace duofi::ofi
