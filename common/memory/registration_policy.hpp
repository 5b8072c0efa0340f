// The decisions taken before any memory is registered: may DMA-BUF be offered (gates G1, G2) and
// who chooses memory region keys (gate G3). Pure functions of plain values; any thread. Values of
// libfabric constants are written out here because this folder does not see libfabric; a test
// compares them with the library's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/util/error.hpp"

namespace duofi::memory {

inline constexpr std::uint64_t kCapRma = 1ULL << 2;         ///< FI_RMA
inline constexpr std::uint64_t kCapHmem = 1ULL << 47;       ///< FI_HMEM
inline constexpr std::uint64_t kModeBasic = 1ULL << 0;      ///< FI_MR_BASIC
inline constexpr std::uint64_t kModeVirtAddr = 1ULL << 4;   ///< FI_MR_VIRT_ADDR
inline constexpr std::uint64_t kModeAllocated = 1ULL << 5;  ///< FI_MR_ALLOCATED
inline constexpr std::uint64_t kModeProvKey = 1ULL << 6;    ///< FI_MR_PROV_KEY
inline constexpr std::uint64_t kModeEndpoint = 1ULL << 9;   ///< FI_MR_ENDPOINT

/// Newest negotiated interface that has no DMA-BUF registration: 1.19 as major << 16 | minor (S4).
inline constexpr std::uint32_t kLastApiWithoutDmabuf = 0x10013;

/// May device memory go straight to the NIC? Known once an endpoint accepted the options (S6).
enum class GdrState : std::uint8_t { unknown = 0, supported = 1, unsupported = 2 };

/// First two numbers of a kernel release string.
struct KernelVersion {
    int major = 0;
    int minor = 0;
};

/// Parses "maj.min" with anything behind it ("5.12.0-rc1", "6.1.0-18-amd64"); nullopt when the text
/// does not begin with two numbers joined by a dot.
[[nodiscard]] std::optional<KernelVersion> parse_kernel_release(std::string_view release);

/// Exact test of net contract 4.8: (major == 5 and minor >= 12) or major > 5.
[[nodiscard]] bool kernel_has_dmabuf(KernelVersion kernel) noexcept;

/// What gate G1 looks at.
struct DmabufViability {
    bool flag_known = false;        ///< the build knows FI_MR_DMABUF, from headers or as a number
    bool disabled_by_user = false;  ///< OFI_NCCL_DISABLE_DMABUF
    bool device_exports = false;    ///< the device runtime can export DMA-BUF descriptors
    std::string_view kernel_release{};  ///< release field of uname
};

/// Gate G1 (net contract 4.8). An unreadable kernel release counts as too old.
[[nodiscard]] bool dmabuf_viable(const DmabufViability& in);

/// What gate G2 looks at, about one device.
struct DmabufSupport {
    std::uint64_t caps = 0;            ///< capabilities granted
    std::uint32_t api_version = 0;     ///< negotiated interface version of the fabric, packed
    bool viable = false;               ///< answer of gate G1
    GdrState gdr = GdrState::unknown;  ///< state after the first endpoint
    bool is_efa = false;               ///< the provider is the one with the id rule of S3
    bool has_nic_attributes = false;   ///< discovery returned bus and device attributes
    std::uint16_t nic_device_id = 0;   ///< PCI device id, valid with has_nic_attributes
};

/// Gate G2 (net contract 4.8, S3, S4): FI_HMEM granted, interface newer than 1.19, G1, GDR
/// supported; for provider efa also NIC attributes present and a device that is none of 0xefa0,
/// 0xefa1, 0xefa2.
[[nodiscard]] bool dmabuf_supported(const DmabufSupport& in) noexcept;

/// Writes FI_MR_BASIC out as the three bits it stands for; other modes unchanged
/// (architecture 4.3).
[[nodiscard]] std::uint64_t expanded_mr_mode(std::uint64_t mr_mode) noexcept;

/// Gate G3 (S12, P7): we choose the key exactly when the provider does not. FI_RMA plays no part.
[[nodiscard]] bool need_own_key(std::uint64_t mr_mode) noexcept;

/// Who chooses keys of a domain, and how wide ours may be.
struct KeyPolicy {
    bool own = false;           ///< we pass requested_key; otherwise fi_mr_key tells
    std::size_t key_bytes = 0;  ///< width of keys on the wire, bytes
};

/// Gate G3 with the size check. Errors: Errc::internal (-22, logged) when we choose keys and the
/// provider's are narrower than OFI_NCCL_MR_KEY_SIZE asks for.
[[nodiscard]] Result<KeyPolicy> key_policy(std::string_view provider, std::uint64_t mr_mode,
                                           std::size_t provider_key_bytes,
                                           std::size_t requested_key_bytes);

}  // namespace duofi::memory
