#include "common/ofi/packet.hpp"

#include <new>

#include "common/ofi/domain.hpp"
#include "common/ofi/endpoint.hpp"

namespace duofi::ofi {

template <typename T>
PacketPool<T>::~PacketPool() {
    for (Slab& slab : slabs_) Domain::deregister(slab.registration);
}

template <typename T>
bool PacketPool<T>::grow() {
    Slab slab;
    slab.packets.reset(new (std::nothrow) T[kSlab]);
    slab.bytes.reset(new (std::nothrow) std::byte[kSlab * capacity_]);
    if (!slab.packets || !slab.bytes) return false;
    void* descriptor = nullptr;
    if (domain_.needs_local_registration()) {
        auto registration = domain_.register_memory(slab.bytes.get(), kSlab * capacity_, endpoint_.fid());
        if (!registration) return false;
        slab.registration = std::move(*registration);
        descriptor = slab.registration.region->descriptor();
    }
    for (std::size_t i = 0; i < kSlab; ++i) {
        T& packet = slab.packets[i];
        packet.endpoint = &endpoint_;
        packet.data = slab.bytes.get() + i * capacity_;
        packet.descriptor = descriptor;
        release(&packet);
    }
    slabs_.push_back(std::move(slab));
    return true;
}

template class PacketPool<RxPacket>;
template class PacketPool<TxPacket>;

}  // namespace duofi::ofi
