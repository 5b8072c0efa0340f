// Large transfers: the provider works on the caller's memory. Tagged ones need a receive at the other side, one-sided
// ones name the peer's memory.
#include <rdma/fi_rma.h>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/errors.hpp"

namespace duofi::ofi {

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
    return data_posted(peer, fi_tsend(ep_.get(), data, size, descriptor, peer.address, tag, &operation.context));
}

Posted Endpoint::post_tagged_receive(Peer& peer, void* data, std::size_t size, void* descriptor,
                                     std::uint64_t tag, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    const ssize_t code =
        fi_trecv(ep_.get(), data, size, descriptor, FI_ADDR_UNSPEC, tag, 0, &operation.context);
    if (code == 0) return Posted::yes;
    if (code == -FI_EAGAIN || code == -FI_ENOMEM) return Posted::again;  // shm: its receives are used up
    lose_peer(peer, error_text(code));
    return Posted::lost;
}

Posted Endpoint::post_write(Peer& peer, const void* data, std::size_t size, void* descriptor,
                            std::uint64_t address, std::uint64_t key, Operation& operation,
                            Confirm confirm) noexcept {
    if (peer.gone()) return Posted::lost;
    if (confirm == Confirm::none)
        return data_posted(peer, fi_write(ep_.get(), data, size, descriptor, peer.address, address, key,
                                          &operation.context));
    const iovec local{const_cast<void*>(data), size};
    const fi_rma_iov remote{address, size, key};
    fi_msg_rma write{};
    write.msg_iov = &local;
    write.desc = &descriptor;
    write.iov_count = 1;
    write.addr = peer.address;
    write.rma_iov = &remote;
    write.rma_iov_count = 1;
    write.context = &operation.context;
    return data_posted(peer, fi_writemsg(ep_.get(), &write, FI_DELIVERY_COMPLETE | FI_COMPLETION));
}

Posted Endpoint::post_read(Peer& peer, void* data, std::size_t size, void* descriptor, std::uint64_t address,
                           std::uint64_t key, Operation& operation) noexcept {
    if (peer.gone()) return Posted::lost;
    return data_posted(peer, fi_read(ep_.get(), data, size, descriptor, peer.address, address, key,
                                     &operation.context));
}

}  // namespace duofi::ofi
