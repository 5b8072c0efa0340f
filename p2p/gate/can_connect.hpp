// Who may use P2P with whom. Symmetric by construction: both ends ask about the pair in the same
// order (T-6). Any thread, as long as nobody changes the ncclTopoSystem.
#pragma once

#include <functional>

#include "common/util/error.hpp"
#include "p2p/abi.h"

namespace duofi::p2p {

/// What topology says of a pair (p2p contract 3.3).
struct PathAnswer {
    bool p2p = false;
    bool read = false;      ///< SIMPLE data is better pulled
    int intermediate = -1;  ///< rank through whose memory the edge goes, -1 without a relay
};

/// Asked with the lower rank first.
using PathQuery = std::function<PathAnswer(const ncclPeerInfo& low, const ncclPeerInfo& high)>;

/// Whether the device of one record can reach that of the other. The default asks the runtime.
using AccessQuery = std::function<Result<bool>(const ncclPeerInfo& low, const ncclPeerInfo& high)>;

enum class GateStep : int {
    disabled = 1,
    other_host,
    other_domain,
    path,
    relay_off,
    access,
    passed
};

}  // namespace duofi::p2p

/// What the gate knows of the node, shared by all pairs of a communicator.
struct ncclTopoSystem {
    bool disabled = false;           ///< NCCL_P2P_DISABLE
    bool unified = false;            ///< raw pointers are valid in all processes
    bool relay = false;              ///< relays are on offer
    int read_override = -2;          ///< NCCL_P2P_READ_ENABLE: -2 as the path says, 0, 1
    duofi::p2p::PathQuery path;      ///< empty: every pair of one node has a path
    duofi::p2p::AccessQuery access;  ///< empty: devices that name each other accessible
};

namespace duofi::p2p {

/// Path of a pair with NCCL_P2P_READ_ENABLE applied.
[[nodiscard]] PathAnswer check_p2p(const ncclTopoSystem& topo, const ncclPeerInfo& a,
                                   const ncclPeerInfo& b);

/// First step that the pair fails, GateStep::passed if none (p2p contract 3.1). Writes an INFO
/// line when devices cannot reach each other.
[[nodiscard]] GateStep gate(const ncclTopoSystem& topo, const ncclPeerInfo& a,
                            const ncclPeerInfo& b);

/// Entry of the table: *ret is 1 or 0; the result is success for every decision (C-33).
[[nodiscard]] ncclResult_t can_connect(int* ret, ncclTopoSystem* topo, ncclTopoGraph* graph,
                                       ncclPeerInfo* me, ncclPeerInfo* peer);

}  // namespace duofi::p2p
