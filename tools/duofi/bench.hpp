// `duofi bench`: the plugin's tables against plain libfabric on the same provider, and shared memory
// against what the CPUs do without us, interleaved.
#pragma once

#include <string>
#include <vector>

#include "tools/duofi/output.hpp"

namespace duofi::tool {

struct BenchOptions {
    std::vector<std::string> providers;  ///< "" = the default choice; empty list = default and shm
    int rounds = 11;                     ///< of all measurements, in alternating order
    double measurement_s = 0.06;         ///< aim for one measurement
    std::string csv_file;                ///< also write every single measurement here
    bool proxy_only = false;             ///< only the cost of the GIN proxy, without a network
    bool one_sided_only = false;         ///< only the RMA table against raw writes and reads
    bool p2p_only = false;               ///< only shared memory against a counter and memcpy
    bool json = false;
};

int run_bench(const BenchOptions& options);

}  // namespace duofi::tool
