#include "p2p/gate/topology.hpp"

#include <algorithm>
#include <utility>

#include "common/topology/pci_address.hpp"
#include "p2p/gate/neuron_torus.hpp"

namespace duofi::p2p {
namespace {

/// What a PCIe or CPU link between two nodes makes of a path (p2p contract 3.2).
PathType pci_type(NodeKind a, NodeKind b) {
    if (a == NodeKind::cpu && b == NodeKind::cpu) return PathType::sys;
    if (a == NodeKind::cpu || b == NodeKind::cpu) return PathType::phb;
    return a == NodeKind::pci_switch && b == NodeKind::pci_switch ? PathType::pxb : PathType::pix;
}

DeviceInfo device_of(const ncclPeerInfo& record) {
    DeviceInfo info;
    info.family = record.instanceFamily;
    info.mla_index = record.mlaIndex;
    info.tpb_index = record.tpbIndex;
    info.virtual_core_size = record.virtualCoreSize;
    info.host_device = record.hostDevice;
    info.routing_id = record.routingId;
    info.numa_node = record.numaNode;
    info.compute_cap = record.computeCap;
    return info;
}

}  // namespace

int TopoModel::add(TopoNode node) {
    nodes.push_back(std::move(node));
    return static_cast<int>(nodes.size()) - 1;
}

void TopoModel::connect(int a, int b, PathType type, double gigabytes) {
    const auto one_way = [&](int from, int to) {
        auto& links = nodes[static_cast<std::size_t>(from)].links;
        const auto same = std::ranges::find_if(
            links, [&](const TopoLink& link) { return link.to == to && link.type == type; });
        if (same != links.end())
            same->gigabytes += gigabytes;
        else
            links.push_back({to, type, gigabytes});
    };
    if (a == b) return;
    one_way(a, b);
    one_way(b, a);
}

void TopoModel::connect_pci(int a, int b, double gigabytes) {
    connect(a, b, pci_type(node(a).kind, node(b).kind), gigabytes);
}

int TopoModel::cpu(int numa) {
    if (const auto known = find(NodeKind::cpu, numa)) return *known;
    TopoNode node;
    node.kind = NodeKind::cpu;
    node.id = numa;
    return add(std::move(node));
}

void TopoModel::connect_cpus() {
    const std::vector<int> cpus = of_kind(NodeKind::cpu);
    for (std::size_t i = 0; i < cpus.size(); ++i)
        for (std::size_t j = i + 1; j < cpus.size(); ++j)
            if (!linked(cpus[i], cpus[j])) connect_pci(cpus[i], cpus[j], kCpuLinkGigabytes);
}

bool TopoModel::linked(int a, int b) const {
    return std::ranges::any_of(node(a).links, [b](const TopoLink& link) { return link.to == b; });
}

std::vector<int> TopoModel::of_kind(NodeKind kind) const {
    std::vector<int> found;
    for (int index = 0; index < static_cast<int>(nodes.size()); ++index)
        if (node(index).kind == kind) found.push_back(index);
    return found;
}

std::vector<int> TopoModel::devices() const {
    std::vector<int> found = of_kind(NodeKind::device);
    std::ranges::sort(found, {}, [this](int index) {
        return std::pair(node(index).device.host_device, node(index).id);
    });
    return found;
}

std::optional<int> TopoModel::find(NodeKind kind, std::int64_t id) const {
    for (int index = 0; index < static_cast<int>(nodes.size()); ++index)
        if (node(index).kind == kind && node(index).id == id) return index;
    return std::nullopt;
}

int TopoModel::numa_of(int start) const {
    std::vector<int> seen{start};
    for (std::size_t at = 0; at < seen.size(); ++at) {
        if (node(seen[at]).kind == NodeKind::cpu) return static_cast<int>(node(seen[at]).id);
        for (const TopoLink& link : node(seen[at]).links)
            if (link.type >= PathType::pix && std::ranges::find(seen, link.to) == seen.end())
                seen.push_back(link.to);
    }
    return -1;
}

bool TopoModel::has_fast_links() const {
    return std::ranges::any_of(nodes, [](const TopoNode& node) {
        return std::ranges::any_of(node.links,
                                   [](const TopoLink& link) { return link.type == PathType::nvl; });
    });
}

std::string bus_text(std::int64_t bus_id) {
    const auto bits = static_cast<std::uint64_t>(bus_id);
    topology::PciAddress address;
    address.domain = static_cast<std::uint32_t>(bits >> 20);
    address.bus = static_cast<std::uint8_t>(bits >> 12);
    address.device = static_cast<std::uint8_t>(bits >> 4);
    address.function = static_cast<std::uint8_t>(bits & 0xf);
    return address.text();
}

std::optional<std::int64_t> parse_bus_text(std::string_view text) {
    const auto address = topology::PciAddress::parse(text);
    if (!address) return std::nullopt;
    return static_cast<std::int64_t>(address->domain) << 20 | std::int64_t{address->bus} << 12 |
           std::int64_t{address->device} << 4 | address->function;
}

TopoModel model_of_records(std::span<const ncclPeerInfo> records) {
    TopoModel model;
    model.source = "records of the ranks";
    for (const ncclPeerInfo& record : records) {
        if (model.find(NodeKind::device, record.busId)) continue;
        TopoNode node;
        node.id = record.busId;
        node.device = device_of(record);
        const int device = model.add(std::move(node));
        model.connect_pci(device, model.cpu(record.numaNode), kPciLinkGigabytes);
    }
    model.connect_cpus();
    connect_neuron_links(model);
    return model;
}

}  // namespace duofi::p2p
