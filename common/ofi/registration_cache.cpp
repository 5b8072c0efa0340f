#include "common/ofi/registration_cache.hpp"

#include <sys/uio.h>

#include <algorithm>

#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::ofi {

RegistrationCache::RegistrationCache(fid_domain* domain, std::uint64_t mr_mode, std::size_t key_bytes,
                                     bool own_keys, bool share)
    : domain_(domain),
      mr_mode_(mr_mode),
      own_keys_(own_keys),
      share_(share && (mr_mode & FI_MR_ENDPOINT) == 0),
      keys_(key_bytes) {}

MemoryRegion* RegistrationCache::find_covering(std::uintptr_t address, std::size_t length) {
    // Candidates start at or below `address` and not further below than the longest region reaches.
    auto it = regions_.upper_bound(address);
    while (it != regions_.begin()) {
        --it;
        MemoryRegion& region = *it->second;
        if (address - region.address >= longest_) break;
        if (region.cached && length <= region.length &&
            address - region.address <= region.length - length)
            return &region;
    }
    return nullptr;
}

Status RegistrationCache::open_region(MemoryRegion& region, std::uint64_t access, fid_ep* endpoint) {
    if (own_keys_) {
        if (!keys_.acquire(region.own_key)) {
            log::warn(log::net, messages::kKeysExhausted, keys_.in_use());
            return fail(Errc::no_memory, "registration key", FI_ENOKEY);
        }
        region.has_own_key = true;
    }
    iovec range{reinterpret_cast<void*>(region.address), region.length};
    fi_mr_attr attributes{};
    attributes.mr_iov = &range;
    attributes.iov_count = 1;
    attributes.access = access;
    attributes.requested_key = region.own_key;
    int code = open_into(region.fid, [&](fid_mr** mr) {
        return fi_mr_regattr(domain_, &attributes, 0, mr);
    });
    if (code == 0 && (mr_mode_ & FI_MR_ENDPOINT) != 0) {
        code = fi_mr_bind(region.fid.get(), &endpoint->fid, 0);
        if (code == 0) code = fi_mr_enable(region.fid.get());
    }
    if (code == 0) return {};
    if (region.has_own_key) keys_.release(region.own_key);
    log::warn(log::net | log::reg, messages::kRegistrationFailed, region.length, code, error_text(code));
    return tl::unexpected(error_from(code, "fi_mr_regattr"));
}

Result<MemoryRegion*> RegistrationCache::acquire(void* address, std::size_t length, std::uint64_t access,
                                                 fid_ep* endpoint) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::scoped_lock lock(mutex_);
    if (share_) {
        if (MemoryRegion* found = find_covering(begin, length)) {
            ++found->references;
            return found;
        }
    }
    auto region = std::make_unique<MemoryRegion>();
    region->address = begin;
    region->length = length;
    region->references = 1;
    region->cached = share_;
    DUOFI_TRY(open_region(*region, access, endpoint));
    MemoryRegion* raw = region.get();
    regions_.emplace(begin, std::move(region));
    longest_ = std::max(longest_, length);
    return raw;
}

void RegistrationCache::release(MemoryRegion* region) noexcept {
    const std::scoped_lock lock(mutex_);
    if (--region->references != 0) return;
    const auto [first, last] = regions_.equal_range(region->address);
    for (auto it = first; it != last; ++it) {
        if (it->second.get() != region) continue;
        region->fid.reset();  // the key stays taken until the provider has let go of it (P7)
        if (region->has_own_key) keys_.release(region->own_key);
        regions_.erase(it);
        return;
    }
}

std::size_t RegistrationCache::regions() const {
    const std::scoped_lock lock(mutex_);
    return regions_.size();
}

}  // namespace duofi::ofi
