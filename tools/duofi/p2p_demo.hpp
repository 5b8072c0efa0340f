// The shared-memory table of `duofi demo`: all-reduce between the ranks of one node through
// p2p/p2p.h.
#pragma once

#include "common/bootstrap/launch_env.hpp"
#include "common/bootstrap/store.hpp"
#include "tools/duofi/demo.hpp"
#include "tools/duofi/demo_table.hpp"
#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

/// Runs all sizes, and from three ranks on the last one over the network and mixed, as on nodes of
/// two ranks; rank 0 prints. Collective over the store's ranks. The sums are those of all
/// ranks. On several nodes there is no table but a line that says so, and the sums are zero.
[[nodiscard]] Outcome<DemoSums> run_p2p_demo(const DemoOptions& options, bootstrap::Store& store);

}  // namespace duofi::tool
