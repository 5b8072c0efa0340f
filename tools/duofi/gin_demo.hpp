// The one-sided table of `duofi demo`: all ranks to all ranks through the GIN proxy over an RMA
// plugin that is opened as the callers open it.
#pragma once

#include <string>

#include "common/bootstrap/launch_env.hpp"
#include "common/bootstrap/store.hpp"
#include "tools/duofi/demo.hpp"
#include "tools/duofi/demo_table.hpp"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

struct GinDemo {
    std::string net_opened_as;  ///< a net library that the callers would look into, too
    std::string provider;       ///< as the net plugin reported it
};

/// NCCL_RMA_PLUGIN gets the default short name when the user has not set it; before any plugin is
/// loaded.
void set_rma_environment();

/// Runs all sizes; rank 0 prints. Collective over the store's ranks. The sums are those of all
/// ranks.
[[nodiscard]] Outcome<DemoSums> run_gin_demo(const DemoOptions& options,
                                             const bootstrap::LaunchFacts& facts,
                                             const GinDemo& demo, bootstrap::Store& store);

}  // namespace duofi::tool
