// Who may use P2P with whom. Symmetric by construction: both ends ask about the pair in the same
// order (T-6). Any thread, as long as nobody changes the ncclTopoSystem.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/gate/levels.hpp"
#include "p2p/gate/placement.hpp"

namespace duofi::p2p {

/// What topology says of a pair (p2p contract 3.3).
struct PathAnswer {
    bool p2p = false;
    bool read = false;      ///< SIMPLE data is better pulled
    int intermediate = -1;  ///< rank through whose memory the edge goes, -1 without a relay
    PathType type = PathType::loc;
    int middle = -1;        ///< rank on the device in the middle, whether or not it relays
    bool net_is_wider = false;
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
    pod,          ///< other servers, pods are on, but not theirs
    net_is_wider, ///< DUOFI_P2P_PREFER_NET
    passed
};
/// In words, for matrices: "the devices do not reach each other".
[[nodiscard]] const char* to_string(GateStep step) noexcept;

}  // namespace duofi::p2p

/// What the gate knows of the node, shared by all pairs of a communicator.
struct ncclTopoSystem {
    bool disabled = false;           ///< NCCL_P2P_DISABLE
    bool unified = false;            ///< raw pointers are valid in all processes
    bool relay = false;              ///< relays are on offer
    int read_override = -2;          ///< NCCL_P2P_READ_ENABLE: -2 as the path says, 0, 1
    duofi::p2p::PathQuery path;      ///< instead of `placement`
    duofi::p2p::AccessQuery access;  ///< empty: devices that name each other accessible

    /// Farthest path that P2P may use (NCCL_P2P_LEVEL, or the runtime's default).
    duofi::p2p::PathType level = duofi::p2p::PathType::sys;
    bool level_set = false;      ///< by the user
    /// P2P is path and access, devices in the middle do not count: runtimes without relays of their
    /// own, as the base does it. Otherwise a pair with a device in the middle needs a relay.
    bool plain_formula = false;
    bool nvb = true;          ///< paths through a device count (NCCL_NVB_DISABLE)
    bool pods = false;        ///< DUOFI_P2P_PODS
    bool prefer_net = false;  ///< DUOFI_P2P_PREFER_NET
    bool direct = true;       ///< ranks of one process use each other's pointers (NCCL_P2P_DIRECT_DISABLE)
    bool net_inside = true;   ///< the network may join ranks of one node (NCCL_NET_DISABLE_INTRA)
    std::shared_ptr<const duofi::p2p::TopoModel> machine;    ///< NULL: only the records tell
    std::shared_ptr<const duofi::p2p::Placement> placement;  ///< NULL: every pair has a path
};

namespace duofi::p2p {

/// Path of a pair with NCCL_P2P_READ_ENABLE applied.
[[nodiscard]] PathAnswer check_p2p(const ncclTopoSystem& topo, const ncclPeerInfo& a,
                                   const ncclPeerInfo& b);

/// Do the ends of an edge use each other's pointers, where P2P joins them without a relay?
[[nodiscard]] bool share_pointers(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept;
/// May the network join a pair that P2P does not?
[[nodiscard]] bool net_may_join(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept;

/// What the steps found out about a pair, as far as they were needed.
struct Judgement {
    GateStep step = GateStep::passed;  ///< first one that the pair fails
    PathAnswer path;
    std::optional<bool> access;        ///< not set: not asked
    bool query_failed = false;
};
/// The steps of p2p contract 3.1 without a line in the log: transports and matrices ask this.
[[nodiscard]] Judgement judge(const ncclTopoSystem& topo, const ncclPeerInfo& a,
                              const ncclPeerInfo& b);

/// The step of judge(). Writes an INFO line when devices cannot reach each other.
[[nodiscard]] GateStep gate(const ncclTopoSystem& topo, const ncclPeerInfo& a,
                            const ncclPeerInfo& b);

/// Entry of the table: *ret is 1 or 0; the result is success for every decision (C-33). A rank whose
/// own device is not on its machine gets ncclInternalError, with one line.
[[nodiscard]] ncclResult_t can_connect(int* ret, ncclTopoSystem* topo, ncclTopoGraph* graph,
                                       ncclPeerInfo* me, ncclPeerInfo* peer);

}  // namespace duofi::p2p
