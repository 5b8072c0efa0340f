#include "common/ofi/domain.hpp"

#include <sys/uio.h>

#include "common/memory/registration_policy.hpp"
#include "common/ofi/errors.hpp"
#include "common/ofi/signal_guard.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::ofi {

namespace {

tl::unexpected<Error> open_failed(const DeviceInfo& device, const char* call, int code) {
    log::warn(log::net, messages::kOpenFailed, call, device.name, device.provider, code, error_text(code));
    return tl::unexpected(error_from(code, call));
}

}  // namespace

Domain::Domain(const DeviceInfo& device, const Settings& settings, std::uint64_t access)
    : device_(device),
      settings_(settings),
      mr_mode_(memory::expanded_mr_mode(static_cast<std::uint64_t>(device.info->domain_attr->mr_mode))),
      access_(access),
      guard_(allows_remote_access() ? quirk_for(device.provider, fi_version()).key_lookups : KeyLookups::guarded) {}

Domain::~Domain() = default;

Result<std::shared_ptr<Domain>> Domain::open(const DeviceInfo& device, const Settings& settings,
                                             std::uint64_t access) {
    std::shared_ptr<Domain> self(new Domain(device, settings, access));
    const SignalGuard signals;
    fi_info* info = device.info.get();
    int code = open_into(self->fabric_, [&](fid_fabric** fabric) {
        return fi_fabric(info->fabric_attr, fabric, nullptr);
    });
    if (code != 0) return open_failed(device, "fi_fabric", code);
    code = open_into(self->domain_, [&](fid_domain** domain) {
        return fi_domain(self->fabric_.get(), info, domain, nullptr);
    });
    if (code != 0) return open_failed(device, "fi_domain", code);
    DUOFI_ASSIGN(const memory::KeyPolicy keys,
                 memory::key_policy(device.provider, self->mr_mode_, info->domain_attr->mr_key_size,
                                    settings.mr_key_size));
    self->cache_.emplace(self->domain_.get(), self->mr_mode_, keys.key_bytes, keys.own,
                         !settings.mr_cache_disable, self->guard_);
    return self;
}

Result<Registration> Domain::register_memory(void* data, std::size_t size, fid_ep* endpoint) {
    DUOFI_ASSIGN(MemoryRegion * region, cache_->acquire(data, size, access_, endpoint));
    Registration registration;
    registration.address = reinterpret_cast<std::uintptr_t>(data);
    registration.length = size;
    registration.region = region;
    registration.domain = shared_from_this();
    return registration;
}

Result<std::uint64_t> Domain::expose(const Registration& registration) {
    if (!allows_remote_access()) return fail(Errc::unsupported, "remote access", FI_EOPNOTSUPP);
    const std::uint64_t key = registration.region->key();
    if (key == FI_KEY_NOTAVAIL) return fail(Errc::no_data, "fi_mr_key", FI_ENOENT);
    exposed_.add(key, {registration.region->address, registration.region->length});
    return key;
}

void Domain::withdraw(const Registration& registration) noexcept { exposed_.remove(registration.region->key()); }

void Domain::deregister(Registration& registration) noexcept {
    if (registration.domain == nullptr) return;
    registration.domain->cache_->release(registration.region);
    registration = {};
}

}  // namespace duofi::ofi
