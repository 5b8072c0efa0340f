// What the machine's product name decides (step I5, net contract 4.10). Reads one file; otherwise
// pure. Called once per init, from the thread that runs init.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/util/settings.hpp"
#include "common/topology/platform_table.hpp"

namespace duofi::topology {

inline constexpr double kDefaultLatencyUs = 75.0;

/// Decisions of the platform, already merged with the user's settings where both speak.
struct Platform {
    bool aws = false;                                 ///< EC2 rules apply
    std::string product_name;                         ///< empty when unknown
    std::string_view protocol;  ///< the platform's wish in words of OFI_NCCL_PROTOCOL, "" = none
    double latency_us = kDefaultLatencyUs;  ///< OFI_NCCL_NET_LATENCY, else the row, else 75
    bool gdr_required = false;              ///< see endpoint_check
    int nic_dup_conns = 0;                  ///< OFI_NCCL_NIC_DUP_CONNS, else the row
    bool domain_per_thread = false;         ///< OFI_NCCL_DOMAIN_PER_THREAD, else the row
    bool filter_efa = false;  ///< ask libfabric for efa only: EC2 and no provider chosen (S17)
    bool has_topology_file = false;               ///< noted; such files are not shipped
    int speed_override_mbps = 0;                  ///< net contract 6.4; 0 = what the NIC says
    std::span<const EnvironmentRow> environment;  ///< static storage
};

/// Name for the I5 line: "AWS" or "Default".
[[nodiscard]] std::string_view name_of(const Platform& platform) noexcept;

/// First line of the DMI product name file below `root` ("" in production); empty if it cannot be
/// read.
[[nodiscard]] std::string read_product_name(const std::string& root = "");

/// Decides without logging. OFI_NCCL_FORCE_PRODUCT_NAME replaces `dmi_product_name`,
/// OFI_NCCL_PLATFORM (any case) replaces the choice between AWS and Default.
[[nodiscard]] Platform pick_platform(const Settings& settings, const std::string& dmi_product_name);

/// Copy of `settings` in which every value that the user left open is the platform's: copies per
/// NIC, latency, domain per thread, and the provider `efa_name` if the platform filters (S17).
[[nodiscard]] Settings effective_settings(const Settings& settings, const Platform& platform,
                                          std::string_view efa_name);

/// The lines of I5. `efa_name` is the provider name of the filter.
void log_platform(const Platform& platform, std::string_view efa_name);

}  // namespace duofi::topology
