#include "p2p/gate/can_connect.hpp"

#include <utility>

#include "common/local/ipc_domain.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "common/util/messages/p2p_gate.hpp"
#include "p2p/gate/pods.hpp"
#include "p2p/log_subsystems.hpp"

namespace duofi::p2p {
namespace {

constexpr int kReadCapability = 80;

using Pair = std::pair<const ncclPeerInfo*, const ncclPeerInfo*>;

Pair in_order(const ncclPeerInfo& a, const ncclPeerInfo& b) {
    return a.rank <= b.rank ? Pair(&a, &b) : Pair(&b, &a);
}

unsigned long long bus(const ncclPeerInfo& info) {
    return static_cast<unsigned long long>(info.busId);
}

/// G6: the same device reaches itself.
void ask_access(const ncclTopoSystem& topo, const ncclPeerInfo& low, const ncclPeerInfo& high,
                Judgement& found) {
    const bool same_device = low.hostHash == high.hostHash && low.busId == high.busId;
    const Result<bool> answer = same_device || !topo.access ? true : topo.access(low, high);
    found.query_failed = !answer;
    found.access = answer && *answer;
    if (!*found.access) found.step = GateStep::access;
}

/// What the placement says (p2p contract 3.3).
PathAnswer path_on_machine(const ncclTopoSystem& topo, const ncclPeerInfo& low,
                           const ncclPeerInfo& high) {
    const RankPath found = topo.placement->path(low, high);
    PathAnswer answer;
    answer.type = found.path.type;
    answer.p2p = found.path.type <= topo.level;
    answer.middle = found.relay_rank;
    if (!topo.plain_formula) answer.intermediate = found.relay_rank;
    answer.read = found.path.type == PathType::nvl && low.computeCap == high.computeCap &&
                  low.computeCap == kReadCapability;
    answer.net_is_wider =
        found.path.type != PathType::loc && found.net_gigabytes > found.path.gigabytes;
    return answer;
}

/// Servers of one pod are joined by fast links.
constexpr PathAnswer kPodPath{.p2p = true, .type = PathType::nvl};

PathAnswer find_path(const ncclTopoSystem& topo, const ncclPeerInfo& low, const ncclPeerInfo& high) {
    if (topo.path) return topo.path(low, high);
    if (topo.placement == nullptr) return {.p2p = true};
    if (same_server(low, high)) return path_on_machine(topo, low, high);
    return topo.pods && pod_reaches(low, high) ? kPodPath : PathAnswer{.type = PathType::net};
}

/// G4, G5 and the question whether the network would be better, for a pair of one server. True when
/// access is to be asked.
bool judge_path(const ncclTopoSystem& topo, Judgement& found) {
    const PathAnswer& path = found.path;
    if (!path.p2p) {
        found.step = GateStep::path;
    } else if (path.intermediate != -1) {
        found.step = topo.relay ? GateStep::passed : GateStep::relay_off;
    } else if (topo.prefer_net && path.net_is_wider) {
        found.step = GateStep::net_is_wider;
    } else {
        return true;
    }
    return false;
}

}  // namespace

const char* to_string(GateStep step) noexcept {
    switch (step) {
        case GateStep::disabled: return "P2P is disabled";
        case GateStep::other_host: return "different servers";
        case GateStep::other_domain: return "the processes cannot share memory";
        case GateStep::path: return "the path is beyond the level";
        case GateStep::relay_off: return "needs a relay, and relays are off";
        case GateStep::access: return "the devices do not reach each other";
        case GateStep::pod: return "servers that no pod joins";
        case GateStep::net_is_wider: return "the network is wider";
        case GateStep::passed: return "passed";
    }
    return "";
}

PathAnswer check_p2p(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    const auto [low, high] = in_order(a, b);
    PathAnswer answer = find_path(topo, *low, *high);
    if (topo.read_override != -2) answer.read = topo.read_override != 0;
    return answer;
}

bool share_pointers(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept {
    return topo.direct && a.pidHash == b.pidHash;
}

bool net_may_join(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept {
    return topo.net_inside || a.hostHash != b.hostHash;
}

Judgement judge(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    const auto [low, high] = in_order(a, b);
    Judgement found;
    const bool near = same_server(*low, *high);
    found.path = check_p2p(topo, *low, *high);
    if (topo.disabled) {
        found.step = GateStep::disabled;
    } else if (!near && !topo.pods) {
        found.step = GateStep::other_host;
    } else if (!near && !pod_reaches(*low, *high)) {
        found.step = GateStep::pod;
    } else if (low->pidHash != high->pidHash && !topo.unified &&
               !local::same_domain(low->shmDev, high->shmDev)) {
        found.step = GateStep::other_domain;
    } else if (near && judge_path(topo, found)) {
        ask_access(topo, *low, *high, found);
    }
    return found;
}

GateStep gate(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    const Judgement found = judge(topo, a, b);
    if (found.step != GateStep::access) return found.step;
    const auto [low, high] = in_order(a, b);
    if (found.query_failed)
        log::info(kSetupLog, messages::kP2pQueryFailed, low->cudaDev, bus(*low), high->cudaDev,
                  bus(*high));
    else
        log::info(kSetupLog, messages::kP2pCouldNotEnable, low->cudaDev, bus(*low), high->cudaDev,
                  bus(*high));
    return found.step;
}

ncclResult_t can_connect(int* ret, ncclTopoSystem* topo, ncclTopoGraph* /*graph*/, ncclPeerInfo* me,
                         ncclPeerInfo* peer) {
    if (ret == nullptr || topo == nullptr || me == nullptr || peer == nullptr)
        return ncclInvalidArgument;
    *ret = 0;
    const GateStep step = gate(*topo, *me, *peer);
    if (step == GateStep::path && topo->placement && !topo->placement->knows(*me)) {
        const TopoModel* machine = topo->placement->machine_of(*me);
        log::warn(kSetupLog, messages::kTopologyUnknownDevice, me->rank, bus(*me),
                  machine != nullptr ? machine->source : "");
        return ncclInternalError;
    }
    *ret = step == GateStep::passed ? 1 : 0;
    return ncclSuccess;
}

}  // namespace duofi::p2p
