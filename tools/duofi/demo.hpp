// `duofi demo`: ranks in a ring over the net plugin, then all to all over the RMA plugin, then sums
// over shared memory; every byte checked, tables as rccl-tests prints them.
#pragma once

#include <cstddef>
#include <string>

#include "tools/duofi/output.hpp"

namespace duofi::tool {

struct DemoOptions {
    int ranks = 4;                          ///< -n; ignored under a launcher
    std::size_t begin = 8, end = 8u << 20;  ///< -b, -e, bytes
    unsigned factor = 2;                    ///< -f
    unsigned iterations = 0;                ///< -i; 0 = by size
    unsigned warmup = 4;                    ///< -w, checked but not timed
    double step_limit_s = 30;               ///< longest wait for one step
    double run_limit_s = 300;               ///< longest run of local ranks
    std::string provider;                   ///< --provider, "" = the plugin's choice
    bool one_sided = true;                  ///< second table, over the RMA plugin; --no-one-sided
    bool shared_memory = true;              ///< third table, P2P; --no-p2p
    Form form = Form::table;
};

/// Starts the ranks, or is one of them under a launcher. Returns the exit code of the command.
int run_demo(const DemoOptions& options);

}  // namespace duofi::tool
