#include "p2p/gate/can_connect.hpp"

#include <utility>

#include "common/local/ipc_domain.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"

namespace duofi::p2p {
namespace {

constexpr unsigned long kLog = NCCL_INIT | NCCL_P2P;

using Pair = std::pair<const ncclPeerInfo*, const ncclPeerInfo*>;

Pair in_order(const ncclPeerInfo& a, const ncclPeerInfo& b) {
    return a.rank <= b.rank ? Pair(&a, &b) : Pair(&b, &a);
}

unsigned long long bus(const ncclPeerInfo& info) {
    return static_cast<unsigned long long>(info.busId);
}

/// G6: the same device reaches itself.
bool reachable(const ncclTopoSystem& topo, const ncclPeerInfo& low, const ncclPeerInfo& high) {
    if (low.busId == high.busId || !topo.access) return true;
    const Result<bool> answer = topo.access(low, high);
    if (!answer)
        log::info(kLog, messages::kP2pQueryFailed, low.cudaDev, bus(low), high.cudaDev, bus(high));
    else if (!*answer)
        log::info(kLog, messages::kP2pCouldNotEnable, low.cudaDev, bus(low), high.cudaDev,
                  bus(high));
    return answer && *answer;
}

}  // namespace

PathAnswer check_p2p(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    const auto [low, high] = in_order(a, b);
    PathAnswer answer{.p2p = true};
    if (topo.path) answer = topo.path(*low, *high);
    if (topo.read_override != -2) answer.read = topo.read_override != 0;
    return answer;
}

GateStep gate(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    const auto [low, high] = in_order(a, b);
    if (topo.disabled) return GateStep::disabled;
    if (low->hostHash != high->hostHash) return GateStep::other_host;
    if (low->pidHash != high->pidHash && !topo.unified &&
        !local::same_domain(low->shmDev, high->shmDev))
        return GateStep::other_domain;
    const PathAnswer path = check_p2p(topo, *low, *high);
    if (!path.p2p) return GateStep::path;
    if (path.intermediate != -1) return topo.relay ? GateStep::passed : GateStep::relay_off;
    return reachable(topo, *low, *high) ? GateStep::passed : GateStep::access;
}

ncclResult_t can_connect(int* ret, ncclTopoSystem* topo, ncclTopoGraph* /*graph*/, ncclPeerInfo* me,
                         ncclPeerInfo* peer) {
    if (ret == nullptr || topo == nullptr || me == nullptr || peer == nullptr)
        return ncclInvalidArgument;
    *ret = gate(*topo, *me, *peer) == GateStep::passed ? 1 : 0;
    return ncclSuccess;
}

}  // namespace duofi::p2p
