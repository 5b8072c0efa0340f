#include "net_plugin/endpoint_check.hpp"

#include <cerrno>

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"

namespace duofi::net {

namespace {

constexpr unsigned long kWhere = log::init | log::net;

constexpr std::uint32_t packed(std::uint32_t major, std::uint32_t minor) {
    return major << 16 | minor;
}

/// -92 is the answer to an option that this endpoint does not have.
constexpr bool tolerated(int rc) {
    return rc == 0 || rc == -ENOPROTOOPT;
}

tl::unexpected<Error> option_failed(int option, int rc) {
    log::warn(kWhere, messages::kEndpointOption, option, rc);
    return fail(Errc::system, "endpoint option", -rc);
}

Status check_gdr(const EndpointCheck& check) {
    if (!check.gdr_required || check.gdr == memory::GdrState::supported || check.skip_gdr_check)
        return {};
    log::warn(kWhere, messages::kGdrRequired, check.product_name);
    return fail(Errc::internal, "GDR required", EINVAL);
}

Status check_native_write(const EndpointCheck& check, const EndpointOptions& options) {
    if (check.protocol != ProtocolKind::rdma || check.skip_native_write_check) return {};
    bool emulated = false;
    std::size_t bytes = sizeof(emulated);
    const int rc = option_known(kOptEfaEmulatedWrite, check.fi_version)
                       ? options.get(kOptEfaEmulatedWrite, &emulated, &bytes)
                       : -ENOPROTOOPT;
    if (rc != 0 || bytes != sizeof(emulated)) {
        log::warn(kWhere, messages::kEmulatedWriteUnreadable, rc, bytes);
        return fail(Errc::internal, "FI_OPT_EFA_EMULATED_WRITE", EINVAL);
    }
    if (!emulated) return {};
    log::warn(kWhere, messages::kEmulatedWrite);
    return fail(Errc::internal, "FI_OPT_EFA_EMULATED_WRITE", EINVAL);
}

/// Callers move data inside one node themselves; the provider's own shared memory path would only
/// add another order of delivery.
Status forbid_shared_memory(const EndpointCheck& check, const EndpointOptions& options) {
    if (!option_known(kOptSharedMemoryPermitted, check.fi_version)) return {};
    const bool permitted = false;
    const int rc = options.set(kOptSharedMemoryPermitted, &permitted, sizeof(permitted));
    if (!tolerated(rc)) return option_failed(kOptSharedMemoryPermitted, rc);
    return {};
}

Result<std::optional<std::size_t>> read_limit(int option, const EndpointCheck& check,
                                              const EndpointOptions& options) {
    if (!option_known(option, check.fi_version)) return std::nullopt;
    std::size_t value = 0;
    std::size_t bytes = sizeof(value);
    const int rc = options.get(option, &value, &bytes);
    if (!tolerated(rc)) return option_failed(option, rc);
    if (rc != 0 || bytes != sizeof(value)) return std::nullopt;
    return value;
}

}  // namespace

bool option_known(int option, std::uint32_t fi_version) noexcept {
    switch (option) {
        case kOptEfaEmulatedWrite:
            return fi_version >= packed(1, 18);
        case kOptSharedMemoryPermitted:
            return fi_version >= packed(1, 21);
        case kOptMaxMsgSize:
        case kOptInjectRmaSize:
            return fi_version >= packed(1, 22);
        default:
            return false;
    }
}

Result<EndpointLimits> check_endpoint(const EndpointCheck& check, const EndpointOptions& options) {
    EndpointLimits limits;
    if (!check.is_efa) return limits;
    DUOFI_TRY(check_gdr(check));
    DUOFI_TRY(check_native_write(check, options));
    DUOFI_TRY(forbid_shared_memory(check, options));
    DUOFI_ASSIGN(limits.max_msg_bytes, read_limit(kOptMaxMsgSize, check, options));
    DUOFI_ASSIGN(limits.inject_rma_bytes, read_limit(kOptInjectRmaSize, check, options));
    return limits;
}

}  // namespace duofi::net
