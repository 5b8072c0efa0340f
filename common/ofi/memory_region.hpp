// One registration with the provider, and the handle a caller holds on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/ofi/fid.hpp"

namespace duofi::ofi {

class Domain;
class RegistrationCache;

/// A range known to the provider. Owned by the registration cache of its domain.
struct MemoryRegion {
    std::uintptr_t address = 0;
    std::size_t length = 0;
    std::uint64_t own_key = 0;  ///< key to give back, 0 if the provider chose it
    bool has_own_key = false;
    std::uint32_t handles = 0;                 ///< registrations that callers hold; the cache's
    std::atomic<std::uint32_t> references{0};  ///< those, and transfers that need it
    RegistrationCache* cache = nullptr;  ///< the owner
    MemoryRegionPtr fid;

    /// For a transfer, while there is another holder; no lock.
    void retain() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
    /// Gives it back; the cache, so its domain, is still there.
    void release() noexcept;
    [[nodiscard]] void* descriptor() const noexcept { return fi_mr_desc(fid.get()); }
    [[nodiscard]] std::uint64_t key() const noexcept { return fi_mr_key(fid.get()); }
};

/// What a caller registered: exactly the bytes asked for, over a region that covers them (A13). A plain value;
/// give it back once with Domain::deregister.
struct Registration {
    std::uintptr_t address = 0;
    std::size_t length = 0;
    MemoryRegion* region = nullptr;
    std::shared_ptr<Domain> domain;  ///< keeps the domain open while registered

    /// Own range check: providers accept anything (net P4, rma P-5).
    [[nodiscard]] bool covers(const void* data, std::size_t size) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(data);
        return begin >= address && size <= length && begin - address <= length - size;
    }
};

}  // namespace duofi::ofi
