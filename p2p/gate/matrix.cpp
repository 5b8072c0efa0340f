#include "p2p/gate/matrix.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace duofi::p2p {
namespace {

EdgeKind kind_of(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b, const Judgement& found) {
    if (found.step != GateStep::passed) return net_may_join(topo, a, b) ? EdgeKind::net : EdgeKind::none;
    if (found.path.intermediate != -1) return EdgeKind::relay;
    return share_pointers(topo, a, b) ? EdgeKind::direct : EdgeKind::ipc;
}

const char* outcome_text(EdgeKind kind) {
    switch (kind) {
        case EdgeKind::self: return "self";
        case EdgeKind::direct: return "direct pointer";
        case EdgeKind::ipc: return "IPC";
        case EdgeKind::relay: return "relay";
        case EdgeKind::net: return "NET";
        case EdgeKind::none: return "no transport";
    }
    return "";
}

std::string reason(const ncclTopoSystem& topo, std::span<const ncclPeerInfo> ranks,
                   const Judgement& found, EdgeKind kind) {
    std::string text = fmt::format("path {}", to_string(found.path.type));
    for (std::size_t column = 0; column < ranks.size(); ++column)
        if (found.path.middle >= 0 && ranks[column].rank == found.path.middle)
            text += fmt::format(" via DEV{}", column);
    text += fmt::format(", level {}", to_string(topo.level));
    if (found.query_failed)
        text += ", oracle failed";
    else if (found.access)
        text += fmt::format(", oracle {}", *found.access ? 1 : 0);
    if (found.path.intermediate != -1) text += topo.relay ? ", relay on" : ", relay off";
    if (found.step != GateStep::passed) text += fmt::format(": {}", to_string(found.step));
    return text + fmt::format(" -> {}{}", outcome_text(kind),
                              found.path.read && joined(kind) ? "/read" : "");
}

MatrixEdge edge_between(const ncclTopoSystem& topo, std::span<const ncclPeerInfo> ranks,
                        std::size_t row, std::size_t column) {
    if (row == column) return {};
    const Judgement found = judge(topo, ranks[row], ranks[column]);
    MatrixEdge edge;
    edge.kind = kind_of(topo, ranks[row], ranks[column], found);
    edge.path = found.path.type;
    edge.read = found.path.read;
    edge.middle = found.path.middle;
    edge.step = found.step;
    edge.why = reason(topo, ranks, found, edge.kind);
    return edge;
}

std::string nic_name(const TopoNode& nic) {
    return nic.name.empty() ? bus_text(nic.id) : nic.name;
}

void add_machine(const ncclTopoSystem& topo, const ncclPeerInfo& rank, MatrixRow& row) {
    const TopoModel* machine = topo.placement ? topo.placement->machine_of(rank) : nullptr;
    if (machine == nullptr) return;
    for (const PathType type : topo.placement->nic_paths(rank)) row.nics.push_back(type);
    const auto cpu = machine->find(NodeKind::cpu, rank.numaNode);
    if (cpu) row.affinity = machine->node(*cpu).affinity;
}

}  // namespace

Matrix make_matrix(const ncclTopoSystem& topo, std::span<const ncclPeerInfo> ranks) {
    Matrix matrix;
    matrix.level = topo.level;
    matrix.level_set = topo.level_set;
    if (ranks.empty()) return matrix;
    if (topo.placement)
        if (const TopoModel* machine = topo.placement->machine_of(ranks.front())) {
            matrix.source = machine->source;
            for (const int nic : machine->of_kind(NodeKind::nic))
                matrix.nics.push_back(nic_name(machine->node(nic)));
        }
    for (std::size_t index = 0; index < ranks.size(); ++index) {
        const ncclPeerInfo& rank = ranks[index];
        MatrixRow row{rank.rank, rank.busId, {}, rank.numaNode, rank.mlaIndex, rank.podNode, rank.podId, {}, {}};
        for (std::size_t column = 0; column < ranks.size(); ++column)
            row.edges.push_back(edge_between(topo, ranks, index, column));
        add_machine(topo, rank, row);
        matrix.rows.push_back(std::move(row));
    }
    return matrix;
}

std::string edge_text(const MatrixEdge& edge) {
    if (edge.kind == EdgeKind::self) return "X";
    return fmt::format("{}-{}", to_string(edge.path), static_cast<char>(edge.kind));
}

}  // namespace duofi::p2p
