// From device facts to what callers read: facts -> DeviceProperties -> struct of one table version
// (net contract 3.8, 6.3, 6.4, S5, S7). Built once per init; reading is safe from
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/abi/net_v6.h"
#include "common/memory/registration_policy.hpp"
#include "common/ofi/rail_groups.hpp"

namespace duofi::net {

inline constexpr int kFallbackSpeedMbps = 10'000;  ///< net contract 6.4
inline constexpr int kMaxGroupReceives = 8;        ///< architecture 5
inline constexpr std::size_t kBusIdBytes = 32;  ///< callers copy the last path component into this

/// What discovery and the endpoint know about one device.
struct DeviceFacts {
    std::string name;      ///< unique per device (net contract 3.8)
    std::string pci_path;  ///< sysfs path that ends in a bus address; empty = none
    std::uint64_t guid = 0;
    std::int64_t speed_mbps = 0;  ///< <= 0 = unknown
    int port = 1;
    std::uint64_t caps = 0;         ///< granted
    std::uint64_t mr_mode = 0;      ///< granted
    std::uint32_t api_version = 0;  ///< negotiated, packed
    std::size_t max_msg_bytes = 0;  ///< 0 = no limit known
    std::size_t mr_key_bytes = 0;
    std::size_t inject_bytes = 0;  ///< largest write without registration
    bool is_efa = false;
    bool has_nic_attributes = false;
    std::uint16_t nic_device_id = 0;
};

/// What holds for all devices of one init.
struct PropertyPolicy {
    double latency_us = 75.0;        ///< Platform::latency_us
    bool domain_per_thread = false;  ///< Platform::domain_per_thread
    int max_comms = 1;           ///< ofi::most_comms
    bool dmabuf_viable = false;  ///< gate G1
    memory::GdrState gdr = memory::GdrState::unknown;
    bool tells_origins = false;  ///< peers are told from where the provider counts addresses: it need not be 0
};

/// Properties independent of any table version. The two strings live until the library is unloaded
/// and are the same pointers for the same text, also over several inits (T5; net
/// contract 1.7, 3.8).
struct DeviceProperties {
    const char* name = "";
    const char* pci_path = nullptr;  ///< NULL when there is none the callers can use
    std::uint64_t guid = 0;
    bool hmem_supported = false;
    bool dmabuf_supported = false;
    bool reg_is_global = false;
    int speed_mbps = kFallbackSpeedMbps;
    int port = 1;
    float latency_us = 0;
    int max_comms = 1;
    int max_group_receives = kMaxGroupReceives;
    std::size_t max_p2p_bytes = 1;  ///< 1 .. INT_MAX, net contract 2.2
    std::size_t max_coll_bytes = 1;
    std::size_t max_write_inline_bytes = 0;
    std::size_t max_mr_key_bytes = 0;
    bool rma_supported = false;  ///< peers can be given access to registered memory
};

/// Does the caller survive this path (net contract 6.3)? It needs a '/' and at most 31 characters
/// behind the last one.
[[nodiscard]] bool usable_pci_path(std::string_view path) noexcept;

/// regIsGlobal = not (memory regions bound to endpoints or a domain per thread) (S5).
[[nodiscard]] bool registration_is_global(std::uint64_t mr_mode, bool domain_per_thread) noexcept;

/// First step of the chain: what discovery put down about one device.
[[nodiscard]] DeviceFacts facts_of(const ofi::DeviceInfo& device);
/// Likewise of a device whose rails these are: the first one's, and the speed of all NICs among them.
[[nodiscard]] DeviceFacts facts_of(const ofi::RailInfos& rails);

/// The internal step of the chain. Throws std::bad_alloc only.
[[nodiscard]] DeviceProperties make_properties(const DeviceFacts& facts,
                                               const PropertyPolicy& policy);

/// Bits of ptrSupport in the canonical layout: HOST 1, CUDA 2, DMABUF 4.
[[nodiscard]] int canonical_ptr_support(const DeviceProperties& properties) noexcept;

/// Last step for the canonical v6 table. The strings are those of `properties`, not copies.
[[nodiscard]] ncclNetProperties_v6_t to_v6(const DeviceProperties& properties) noexcept;

}  // namespace duofi::net
