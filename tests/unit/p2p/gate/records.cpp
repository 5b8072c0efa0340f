#include "tests/unit/p2p/gate/records.hpp"

namespace duofi::p2p::test {

std::vector<ncclPeerInfo> one_rank_each(const TopoModel& machine) {
    std::vector<ncclPeerInfo> ranks;
    for (const int node : machine.devices()) {
        const DeviceInfo& device = machine.node(node).device;
        ncclPeerInfo info{};
        info.rank = static_cast<int>(ranks.size());
        info.cudaDev = info.rank;
        info.hostHash = 5;
        info.pidHash = 100 + static_cast<std::uint64_t>(info.rank);
        info.shmDev = std::uint64_t{9} << 32;
        info.busId = machine.node(node).id;
        info.numaNode = device.numa_node;
        info.instanceFamily = device.family;
        info.mlaIndex = device.mla_index;
        info.routingId = device.routing_id;
        info.computeCap = device.compute_cap;
        info.podNode = -1;
        ranks.push_back(info);
    }
    return ranks;
}

ncclTopoSystem gate_on(const TopoModel& machine, std::vector<ncclPeerInfo>& ranks,
                       NeuronReach reach) {
    ncclTopoSystem topo;
    auto shared = std::make_shared<TopoModel>(machine);
    shared->complete = true;
    ranks = one_rank_each(machine);
    topo.machine = shared;
    topo.relay = true;
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, true);
    topo.access = [shared, reach](const ncclPeerInfo& low, const ncclPeerInfo& high) -> Result<bool> {
        return model_can_access(*shared, low.busId, high.busId, reach);
    };
    return topo;
}

}  // namespace duofi::p2p::test
