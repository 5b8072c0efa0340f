// The registrations of a buffer on each rail, held until its transfer is over: a caller may deregister, and a provider gives
// up the connection when a write meets memory that is not registered any more. Guarded by the endpoint's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/ofi/handshake.hpp"
#include "net_plugin/memory_handle.hpp"

namespace duofi::net {

class HeldMemory {
  public:
    /// `memory` is one of check_memory's approval, not NULL; nothing is held yet.
    void hold(const MemoryHandle& memory) noexcept {
        for (std::size_t i = 0; i < memory.rails; ++i) {
            regions_[i] = memory.registration[i].region;
            regions_[i]->retain();
        }
    }
    void release() noexcept {
        for (ofi::MemoryRegion*& region : regions_)
            if (region != nullptr) std::exchange(region, nullptr)->release();
    }

    [[nodiscard]] bool empty() const noexcept { return regions_[0] == nullptr; }
    [[nodiscard]] const ofi::MemoryRegion& region(std::size_t rail) const noexcept { return *regions_[rail]; }
    [[nodiscard]] void* descriptor(std::size_t rail) const noexcept {
        return regions_[rail] != nullptr ? regions_[rail]->descriptor() : nullptr;
    }

  private:
    std::array<ofi::MemoryRegion*, ofi::kMaxRails> regions_{};
};

}  // namespace duofi::net
