#include "p2p/gate/placement.hpp"

#include <algorithm>

#include "p2p/gate/neuron_torus.hpp"

namespace duofi::p2p {
namespace {

/// The machine with the devices that only the records know.
TopoModel completed(TopoModel model, std::span<const ncclPeerInfo> ranks) {
    if (model.complete) return model;
    const TopoModel described = model_of_records(ranks);
    bool added = false;
    for (const int index : described.devices()) {
        const TopoNode& device = described.node(index);
        if (model.find(NodeKind::device, device.id)) continue;
        TopoNode copy = device;
        copy.links.clear();
        const int node = model.add(std::move(copy));
        model.connect_pci(node, model.cpu(device.device.numa_node), kPciLinkGigabytes);
        added = true;
    }
    if (added) {
        model.connect_cpus();
        connect_neuron_links(model);
    }
    return model;
}

}  // namespace

Placement::Placement(std::shared_ptr<const TopoModel> machine, std::span<const ncclPeerInfo> ranks,
                     bool nvb)
    : machine_(std::move(machine)) {
    std::map<std::uint64_t, std::vector<ncclPeerInfo>> hosts;
    for (const ncclPeerInfo& rank : ranks) hosts[rank.hostHash].push_back(rank);
    for (const auto& [host, there] : hosts) add_server(host, there, nvb);
}

void Placement::add_server(std::uint64_t host, std::span<const ncclPeerInfo> ranks, bool nvb) {
    Server server;
    server.model = machine_ != nullptr && machine_->complete
                       ? machine_
                       : std::make_shared<const TopoModel>(
                             completed(machine_ ? *machine_ : TopoModel{}, ranks));
    const TopoModel& model = *server.model;
    for (const int device : model.devices()) server.devices[model.node(device).id] = device;
    server.lowest_rank.assign(model.nodes.size(), -1);
    for (const ncclPeerInfo& rank : ranks) {
        const auto device = server.devices.find(rank.busId);
        if (device == server.devices.end()) continue;
        int& lowest = server.lowest_rank[static_cast<std::size_t>(device->second)];
        if (lowest < 0 || rank.rank < lowest) lowest = rank.rank;
    }
    std::vector<bool> may_relay(model.nodes.size());
    for (std::size_t node = 0; node < may_relay.size(); ++node)
        may_relay[node] = nvb && server.lowest_rank[node] >= 0;
    server.paths = std::make_shared<const PathTable>(model, may_relay);
    servers_.emplace(host, std::move(server));
}

const Placement::Server* Placement::server_of(const ncclPeerInfo& rank) const {
    const auto found = servers_.find(rank.hostHash);
    return found == servers_.end() ? nullptr : &found->second;
}

const TopoModel* Placement::machine_of(const ncclPeerInfo& rank) const {
    const Server* server = server_of(rank);
    return server != nullptr ? server->model.get() : nullptr;
}

bool Placement::knows(const ncclPeerInfo& rank) const {
    const Server* server = server_of(rank);
    return server != nullptr && server->devices.contains(rank.busId);
}

RankPath Placement::path(const ncclPeerInfo& a, const ncclPeerInfo& b) const {
    const Server* server = server_of(a);
    if (server == nullptr || server_of(b) != server) return {};
    const auto from = server->devices.find(a.busId), to = server->devices.find(b.busId);
    if (from == server->devices.end() || to == server->devices.end()) return {};
    RankPath answer{server->paths->between(from->second, to->second)};
    if (answer.path.through >= 0)
        answer.relay_rank = server->lowest_rank[static_cast<std::size_t>(answer.path.through)];
    answer.net_gigabytes = net_between(*server, from->second, to->second);
    return answer;
}

std::vector<PathType> Placement::nic_paths(const ncclPeerInfo& rank) const {
    std::vector<PathType> types;
    if (!knows(rank)) return types;
    const Server& server = *server_of(rank);
    const int device = server.devices.at(rank.busId);
    for (const int nic : server.model->of_kind(NodeKind::nic))
        types.push_back(server.paths->between(device, nic).type);
    return types;
}

double Placement::net_between(const Server& server, int a, int b) {
    const auto nearest = [&](int device) {
        double best = 0;
        for (const int nic : server.model->of_kind(NodeKind::nic)) {
            const TopoPath& path = server.paths->between(device, nic);
            if (path.type <= PathType::pxb) best = std::max(best, path.gigabytes);
        }
        return best;
    };
    return std::min(nearest(a), nearest(b));
}

}  // namespace duofi::p2p
