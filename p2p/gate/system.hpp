// From settings and runtime to the gate of one communicator, the same for transports and for tools.
// One thread.
#pragma once

#include <span>
#include <string_view>

#include "common/util/settings.hpp"
#include "p2p/gate/can_connect.hpp"
#include "p2p/gate/machine_model.hpp"

namespace duofi::p2p {

/// What settings and the installed runtime say, before the ranks know of each other. `runtime` is the
/// runtime's name, `relay` whether relays are on offer. Leaves `path` and sets `access` to the
/// runtime's answer. Errors: invalid_argument (a topology file that cannot be used, after one line).
[[nodiscard]] Status describe_system(std::string_view runtime, bool relay, const Settings& settings,
                                     ncclTopoSystem& topo);

/// Whether some pair might need a buffer of a third rank.
[[nodiscard]] bool may_need_relays(const ncclTopoSystem& topo);

/// The ranks are known: where they sit, and how they reach each other. `rank` is the caller's: rank 0
/// logs the matrix of its server and writes NCCL_TOPO_DUMP_FILE.
void place_ranks(std::span<const ncclPeerInfo> ranks, int rank, const Settings& settings,
                 ncclTopoSystem& topo);

}  // namespace duofi::p2p
