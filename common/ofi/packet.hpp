// Buffers of the message channel: receive packets stay posted, send packets carry staged messages.
// Allocated in slabs, registered once per slab where the provider wants it. Guarded by the endpoint's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/ofi/memory_region.hpp"
#include "common/ofi/operation.hpp"

namespace duofi::ofi {

class Domain;
class Endpoint;
struct Peer;

struct Packet {
    Operation op;
    Endpoint* endpoint = nullptr;
    std::byte* data = nullptr;
    void* descriptor = nullptr;
};

/// A posted receive buffer; messages that must wait for their receive hold a reference on it.
struct RxPacket : Packet {
    std::uint32_t references = 0;
    RxPacket* next = nullptr;
};

/// A send buffer; `used` bytes of messages for `peer`.
struct TxPacket : Packet {
    std::size_t used = 0;
    Peer* peer = nullptr;
    TxPacket* next = nullptr;
};

/// Grows by slabs of 16, never shrinks before the endpoint closes.
template <typename T>
class PacketPool {
  public:
    PacketPool(Domain& domain, Endpoint& endpoint, std::size_t capacity)
        : domain_(domain), endpoint_(endpoint), capacity_(capacity) {}
    ~PacketPool();
    PacketPool(const PacketPool&) = delete;
    PacketPool& operator=(const PacketPool&) = delete;

    /// nullptr only when memory or a registration cannot be had.
    [[nodiscard]] T* acquire() {
        if (free_ == nullptr && !grow()) return nullptr;
        T* packet = free_;
        free_ = packet->next;
        packet->next = nullptr;
        return packet;
    }
    void release(T* packet) noexcept {
        packet->next = free_;
        free_ = packet;
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::size_t allocated() const noexcept { return slabs_.size() * kSlab; }

  private:
    static constexpr std::size_t kSlab = 16;
    struct Slab {
        std::unique_ptr<T[]> packets;
        std::unique_ptr<std::byte[]> bytes;
        Registration registration;
    };
    bool grow();

    Domain& domain_;
    Endpoint& endpoint_;
    std::size_t capacity_;
    T* free_ = nullptr;
    std::vector<Slab> slabs_;
};

extern template class PacketPool<RxPacket>;
extern template class PacketPool<TxPacket>;

}  // namespace duofi::ofi
