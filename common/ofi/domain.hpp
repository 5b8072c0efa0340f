// Fabric and domain of one device, with the facts that registration and endpoints need.
// Shared by the endpoints and registrations on it; closes with the last of them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/ofi/device_list.hpp"
#include "common/ofi/exposed_regions.hpp"
#include "common/ofi/fid.hpp"
#include "common/ofi/key_guard.hpp"
#include "common/ofi/memory_region.hpp"
#include "common/ofi/registration_cache.hpp"
#include "common/util/error.hpp"
#include "common/util/settings.hpp"

namespace duofi::ofi {

class Domain : public std::enable_shared_from_this<Domain> {
  public:
    /// Opens fabric and domain of `device`. Both arguments must outlive the domain. `access`: FI_* bits that
    /// every registration grants. Errors: the provider's, logged with device and provider.
    [[nodiscard]] static Result<std::shared_ptr<Domain>> open(const DeviceInfo& device, const Settings& settings,
                                                              std::uint64_t access = FI_SEND | FI_RECV);
    ~Domain();

    [[nodiscard]] const DeviceInfo& device() const noexcept { return device_; }
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] fi_info* info() const noexcept { return device_.info.get(); }
    [[nodiscard]] fid_fabric* fabric() const noexcept { return fabric_.get(); }
    [[nodiscard]] fid_domain* fid() const noexcept { return domain_.get(); }

    /// Buffers of sends and receives need a descriptor (FI_MR_LOCAL).
    [[nodiscard]] bool needs_local_registration() const noexcept { return (mr_mode_ & FI_MR_LOCAL) != 0; }
    /// Regions are bound to an endpoint (FI_MR_ENDPOINT, S15).
    [[nodiscard]] bool endpoint_bound_registration() const noexcept {
        return (mr_mode_ & FI_MR_ENDPOINT) != 0;
    }

    /// Remote access names bytes by the target's addresses (FI_MR_VIRT_ADDR), otherwise by offset in the region.
    [[nodiscard]] bool addresses_are_virtual() const noexcept { return (mr_mode_ & FI_MR_VIRT_ADDR) != 0; }

    /// Registers caller memory for local sends and receives; `size` > 0 bytes, cpu memory.
    /// Errors: the provider's or no_memory, logged; no trace is left.
    [[nodiscard]] Result<Registration> register_memory(void* data, std::size_t size, fid_ep* endpoint);
    /// Registrations let peers read and write (`access` of open), and the provider can do it.
    [[nodiscard]] bool allows_remote_access() const noexcept {
        return (access_ & FI_REMOTE_WRITE) != 0 && (device_.caps & FI_RMA) != 0;
    }
    /// The key of a registration, for peers; known to find() of exposed() until withdraw. Errors: unsupported without
    /// remote access; no_data (2) when the provider has no key of 64 bits.
    [[nodiscard]] Result<std::uint64_t> expose(const Registration& registration);
    void withdraw(const Registration& registration) noexcept;
    /// What is exposed now.
    [[nodiscard]] const ExposedRegions& exposed() const noexcept { return exposed_; }

    /// Undoes one register_memory; the value is empty afterwards.
    static void deregister(Registration& registration) noexcept;

    /// For calls that take in what peers send.
    [[nodiscard]] KeyGuard& key_guard() noexcept { return guard_; }

    [[nodiscard]] std::size_t registrations() const { return cache_->regions(); }

  private:
    Domain(const DeviceInfo& device, const Settings& settings, std::uint64_t access);

    const DeviceInfo& device_;
    const Settings& settings_;
    std::uint64_t mr_mode_ = 0;
    std::uint64_t access_;
    FabricPtr fabric_;
    DomainPtr domain_;
    KeyGuard guard_;
    std::optional<RegistrationCache> cache_;
    ExposedRegions exposed_;
};

}  // namespace duofi::ofi
