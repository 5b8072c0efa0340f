// Opens and initialises a net plugin the way the hosts do, and remembers what it said about itself.
// One object per process at a time: the host logger is process-wide.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/abi/net_v6.h"
#include "common/loader/plugin_host.hpp"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

/// The short name that commands use when NCCL_NET_PLUGIN is not set.
inline constexpr char kDefaultPlugin[] = "duofi";

struct OpenNet {
    loader::NetPlugin plugin;
    const ncclNet_v6_t* table = nullptr;  ///< valid while `plugin` lives
    int devices = 0;
    std::string provider, protocol;  ///< from the plugin's own lines, "unknown" if it printed none
    std::vector<std::string> rails;  ///< likewise: "<device>: <n> rails over <NICs>, <speed> Mbit/s" where there are several
};

/// Sets the variables that commands pass on as options, before any plugin is loaded: `provider`
/// goes to DUOFI_OFI_PROVIDER, and NCCL_NET_PLUGIN gets the default when the user has not set it.
void set_plugin_environment(const std::string& provider);

/// Lines of the host, of the plugin and of the command itself go to stderr: warnings always, the
/// rest as NCCL_DEBUG asks.
void route_logs();

/// Loads by `plugin` (nullopt: NCCL_NET_PLUGIN), takes the v6 table, calls init and devices.
/// The error text names what failed.
[[nodiscard]] Outcome<OpenNet> open_and_init(const std::optional<std::string>& plugin = {});

}  // namespace duofi::tool
