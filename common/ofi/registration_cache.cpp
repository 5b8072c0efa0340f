#include "common/ofi/registration_cache.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <memory>

#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::ofi {

RegistrationCache::RegistrationCache(fid_domain* domain, std::uint64_t mr_mode, std::size_t key_bytes,
                                     bool own_keys, bool share, KeyGuard& guard)
    : domain_(domain),
      guard_(guard),
      mr_mode_(mr_mode),
      own_keys_(own_keys),
      share_(share && (mr_mode & FI_MR_ENDPOINT) == 0),
      keys_(key_bytes) {}

void MemoryRegion::release() noexcept { cache->release_held(this); }

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
    const int code = [&] {
        const auto keys = guard_.hold_to_register();
        const int opened = open_into(region.fid, [&](fid_mr** mr) { return fi_mr_regattr(domain_, &attributes, 0, mr); });
        if (opened != 0 || (mr_mode_ & FI_MR_ENDPOINT) == 0) return opened;
        const int bound = fi_mr_bind(region.fid.get(), &endpoint->fid, 0);
        return bound != 0 ? bound : fi_mr_enable(region.fid.get());
    }();
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
        if (MemoryRegion** found = regions_.find_covering(begin, length)) {
            (*found)->retain();
            ++(*found)->handles;
            return *found;
        }
    }
    auto region = std::make_unique<MemoryRegion>();
    region->address = begin;
    region->length = length;
    region->references = 1;
    region->handles = 1;
    region->cache = this;
    if (!regions_.insert(begin, length, region.get()))
        return fail(Errc::invalid_argument, "registration range", EINVAL);
    if (Status opened = open_region(*region, access, endpoint); !opened) {
        regions_.erase(begin, length, region.get());
        return tl::unexpected(opened.error());
    }
    ++open_;
    return region.release();
}

void RegistrationCache::release(MemoryRegion* region) noexcept {
    const std::scoped_lock lock(mutex_);
    if (--region->handles == 0) regions_.erase(region->address, region->length, region);
    drop_reference(region);
}

void RegistrationCache::release_held(MemoryRegion* region) noexcept {
    std::uint32_t held = region->references.load(std::memory_order_relaxed);
    while (held > 1)
        if (region->references.compare_exchange_weak(held, held - 1, std::memory_order_acq_rel)) return;
    const std::scoped_lock lock(mutex_);
    drop_reference(region);
}

// Lock held: nobody else can take the last one meanwhile.
void RegistrationCache::drop_reference(MemoryRegion* region) noexcept {
    if (region->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    {
        const auto keys = guard_.hold_to_register();
        region->fid.reset();  // the key stays taken until the provider has let go of it (P7)
    }
    if (region->has_own_key) keys_.release(region->own_key);
    --open_;
    delete region;
}

std::size_t RegistrationCache::regions() const {
    const std::scoped_lock lock(mutex_);
    return open_;
}

}  // namespace duofi::ofi
