// One of the two processes of `duofi bench`: opens plain libfabric and the plugin side by side and
// takes turns between them.
#pragma once

#include <string>

#include "tools/duofi/bench.hpp"
#include "tools/duofi/bench_plan.hpp"
#include "tools/duofi/pair_channel.hpp"

namespace duofi::tool {

/// Runs rank 0 or 1 to the end; returns the exit code of the process, the reason is in
/// `result.error`.
int run_bench_rank(int rank, PairChannel channel, const std::string& provider,
                   const BenchOptions& options, BenchResult& result);

}  // namespace duofi::tool
