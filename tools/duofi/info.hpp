// `duofi info`: which plugin file, tables, libfabric, provider and devices, and why others were
// dropped (W1).
#pragma once

#include <string>

namespace duofi::tool {

struct InfoOptions {
    std::string plugin;  ///< short name or path of the plugin file to look at; empty: NCCL_NET_PLUGIN, else "duofi"
    bool settings_only = false;
    bool json = false;
};

/// Returns the exit code: 1 when the plugin does not open or init, or a setting is bad.
int run_info(const InfoOptions& options);

}  // namespace duofi::tool
