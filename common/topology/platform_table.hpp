// The table of EC2 instance types (net contract 4.10): plain rows, first match wins. Read-only; any
// thread.
#pragma once

#include <span>
#include <string>

namespace duofi::topology {

/// A variable that a platform wants set, unless the user has set it.
struct EnvironmentRow {
    const char* name;
    const char* value;
};

struct PlatformRow {
    const char* match;       ///< whole product name, or a POSIX extended expression
    bool is_pattern;         ///< what `match` is
    const char* protocol;    ///< default of OFI_NCCL_PROTOCOL, in its words
    double latency_us;       ///< latency reported to the caller
    bool gdr_required;       ///< a NIC without device memory access is an error here
    int nic_dup_conns;       ///< devices per NIC, 0 = one
    bool domain_per_thread;  ///< default of OFI_NCCL_DOMAIN_PER_THREAD
    bool has_topology_file;  ///< the caller profits from a topology file of this type
    std::span<const EnvironmentRow> environment;
};

/// All rows in match order.
[[nodiscard]] std::span<const PlatformRow> platform_rows() noexcept;

/// First matching row, or nullptr. An empty name matches nothing.
[[nodiscard]] const PlatformRow* find_platform_row(const std::string& product_name);

}  // namespace duofi::topology
