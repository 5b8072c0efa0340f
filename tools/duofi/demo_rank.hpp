// One rank of `duofi demo`.
#pragma once

#include <string>

#include "common/bootstrap/launch_env.hpp"
#include "tools/duofi/demo.hpp"

namespace duofi::tool {

/// Runs all sizes; rank 0 prints. `started_by` says where the rank facts come from.
/// Returns the exit code of the process.
int run_demo_rank(const DemoOptions& options, const bootstrap::LaunchFacts& facts,
                  const std::string& started_by);

}  // namespace duofi::tool
