#include "p2p/gate/paths.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

namespace duofi::p2p {
namespace {

constexpr double kLocalGigabytes = 5000;

/// Types of links, from near to far.
constexpr std::array kLinkTypes{PathType::nvl, PathType::c2c, PathType::pix,
                                PathType::pxb, PathType::phb, PathType::sys};

using Row = std::vector<TopoPath>;

/// Nodes that pass data on: no devices, no NICs, but the start.
bool passes_on(const TopoModel& model, int node, int start) {
    const NodeKind kind = model.node(node).kind;
    return node == start || (kind != NodeKind::device && kind != NodeKind::nic);
}

/// Bandwidth of the widest way from `start` to each node over links up to `limit`; 0: no way.
std::vector<double> widest(const TopoModel& model, int start, PathType limit) {
    std::vector<double> best(model.nodes.size(), 0);
    std::priority_queue<std::pair<double, int>> open;
    best[static_cast<std::size_t>(start)] = kLocalGigabytes;
    open.emplace(kLocalGigabytes, start);
    while (!open.empty()) {
        const auto [width, node] = open.top();
        open.pop();
        if (width < best[static_cast<std::size_t>(node)] || !passes_on(model, node, start)) continue;
        for (const TopoLink& link : model.node(node).links) {
            const double through = std::min(width, link.gigabytes);
            double& known = best[static_cast<std::size_t>(link.to)];
            if (link.type > limit || through <= known) continue;
            known = through;
            open.emplace(through, link.to);
        }
    }
    return best;
}

/// Fewest links from `start` to each node over links up to that type and at least that wide; 0: no way.
std::vector<int> fewest(const TopoModel& model, int start, const TopoPath& wanted) {
    std::vector<int> hops(model.nodes.size(), 0);
    std::vector<int> line{start};
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (!passes_on(model, line[at], start)) continue;
        for (const TopoLink& link : model.node(line[at]).links) {
            int& known = hops[static_cast<std::size_t>(link.to)];
            if (link.type > wanted.type || link.gigabytes < wanted.gigabytes || known != 0 ||
                link.to == start)
                continue;
            known = hops[static_cast<std::size_t>(line[at])] + 1;
            line.push_back(link.to);
        }
    }
    return hops;
}

/// Everything but NVB.
Row straight_paths(const TopoModel& model, int start) {
    Row row(model.nodes.size());
    for (const PathType limit : kLinkTypes) {
        const std::vector<double> width = widest(model, start, limit);
        for (std::size_t to = 0; to < row.size(); ++to)
            if (row[to].type == PathType::dis && width[to] > 0) row[to] = {limit, width[to]};
    }
    row[static_cast<std::size_t>(start)] = {PathType::loc, kLocalGigabytes};
    for (TopoPath& path : row) {
        if (path.hops != 0 || path.type == PathType::dis || path.type == PathType::loc) continue;
        const TopoPath same = path;
        const std::vector<int> hops = fewest(model, start, same);
        for (std::size_t to = 0; to < row.size(); ++to)
            if (row[to].type == same.type && row[to].gigabytes == same.gigabytes)
                row[to].hops = hops[to];
    }
    return row;
}

/// The path to `to` through the device `middle`, to which a fast link of `first` leads.
void try_relay(const TopoModel& model, const TopoLink& first, TopoPath& best, int to) {
    for (const TopoLink& second : model.node(first.to).links) {
        if (second.to != to || second.type != PathType::nvl) continue;
        const TopoPath path{PathType::nvb, std::min(first.gigabytes, second.gigabytes), 2, first.to};
        const bool nearer = path.type < best.type;
        const bool better = path.type == best.type &&
                            (path.gigabytes > best.gigabytes ||
                             (path.gigabytes == best.gigabytes && path.through < best.through));
        if (nearer || better) best = path;
    }
}

}  // namespace

PathTable::PathTable(const TopoModel& model, const std::vector<bool>& may_relay)
    : rows_(model.nodes.size()) {
    const std::vector<int> devices = model.of_kind(NodeKind::device);
    for (const int from : devices) {
        Row& row = rows_[static_cast<std::size_t>(from)] = straight_paths(model, from);
        for (const TopoLink& link : model.node(from).links) {
            if (link.type != PathType::nvl || model.node(link.to).kind != NodeKind::device ||
                !may_relay[static_cast<std::size_t>(link.to)])
                continue;
            for (const int to : devices)
                if (to != from) try_relay(model, link, row[static_cast<std::size_t>(to)], to);
        }
    }
}

}  // namespace duofi::p2p
