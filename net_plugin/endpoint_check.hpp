// Validation of each new endpoint of provider efa (net contract 4.9): between its creation and its
// enabling. Pure apart from the two injected calls; one endpoint from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "common/memory/registration_policy.hpp"
#include "common/util/error.hpp"
#include "net_plugin/protocol_select.hpp"

namespace duofi::net {

// Option numbers as libfabric releases fixed them; 1.17 headers lack most (net contract 4.9, S13).
inline constexpr int kOptSharedMemoryPermitted = 11;
inline constexpr int kOptMaxMsgSize = 12;
inline constexpr int kOptInjectRmaSize = 18;
inline constexpr int kOptEfaBase = -(0xefa << 16);
inline constexpr int kOptEfaEmulatedWrite = kOptEfaBase + 2;  ///< 0xF1060002

/// Does a library of this packed version know the option? Older ones must not be asked.
[[nodiscard]] bool option_known(int option, std::uint32_t fi_version) noexcept;

/// fi_getopt and fi_setopt of one endpoint at level FI_OPT_ENDPOINT: 0 or a negative libfabric
/// code.
struct EndpointOptions {
    std::function<int(int option, void* value, std::size_t* bytes)> get;
    std::function<int(int option, const void* value, std::size_t bytes)> set;
};

struct EndpointCheck {
    bool is_efa = false;
    std::uint32_t fi_version = 0;  ///< packed version of the library that runs
    ProtocolKind protocol = ProtocolKind::sendrecv;
    bool gdr_required = false;  ///< Platform::gdr_required
    memory::GdrState gdr = memory::GdrState::unknown;
    bool skip_gdr_check = false;           ///< OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK
    bool skip_native_write_check = false;  ///< OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK
    std::string_view product_name{};
};

/// Limits that the endpoint told; nullopt where the library does not know the option.
struct EndpointLimits {
    std::optional<std::size_t> max_msg_bytes;
    std::optional<std::size_t> inject_rma_bytes;
};

/// Providers other than efa pass without a call. Errors, all logged: Errc::internal (-22) for GDR
/// missing where required and for emulated writes; Errc::system for an option call that fails
/// otherwise than -92.
[[nodiscard]] Result<EndpointLimits> check_endpoint(const EndpointCheck& check,
                                                    const EndpointOptions& options);

}  // namespace duofi::net
