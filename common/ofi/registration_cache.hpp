// Explicit, reference-counted registrations of one domain. No malloc hooks: a range is forgotten when its
// last handle is released. Any thread; one mutex, never held by the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "common/ofi/key_allocator.hpp"
#include "common/ofi/key_guard.hpp"
#include "common/ofi/memory_region.hpp"
#include "common/util/error.hpp"
#include "common/util/interval_map.hpp"

namespace duofi::ofi {

class RegistrationCache {
  public:
    /// `share` = later registrations inside a registered range reuse it (off: OFI_NCCL_MR_CACHE_DISABLE).
    /// `guard` outlives the cache.
    RegistrationCache(fid_domain* domain, std::uint64_t mr_mode, std::size_t key_bytes, bool own_keys,
                      bool share, KeyGuard& guard);

    /// Registers [address, address+length) for `access` (FI_SEND | FI_RECV ...). `endpoint` is the one the
    /// region is bound to where FI_MR_ENDPOINT was granted, else ignored. Errors: invalid_argument for a range
    /// that leaves the address space, no_memory, or the provider's (logged); nothing is left behind by a failure.
    [[nodiscard]] Result<MemoryRegion*> acquire(void* address, std::size_t length, std::uint64_t access,
                                                fid_ep* endpoint);
    /// One that acquire gave. After the last of them nobody gets the region any more, though transfers may still hold it:
    /// the caller may have given the memory back, and other memory have its address.
    void release(MemoryRegion* region) noexcept;
    /// One that MemoryRegion::retain took. Takes the lock only if it is the last.
    void release_held(MemoryRegion* region) noexcept;

    [[nodiscard]] std::size_t regions() const;

  private:
    void drop_reference(MemoryRegion* region) noexcept;
    [[nodiscard]] Status open_region(MemoryRegion& region, std::uint64_t access, fid_ep* endpoint);

    fid_domain* domain_;
    KeyGuard& guard_;
    std::uint64_t mr_mode_;
    bool own_keys_;
    bool share_;
    mutable std::mutex mutex_;
    KeyAllocator keys_;
    IntervalMap<MemoryRegion*> regions_;  ///< that have handles; each ends with its last reference
    std::size_t open_ = 0;                ///< those and what only transfers hold
};

}  // namespace duofi::ofi
