// Best paths between the nodes of a machine (p2p contract 3.2). Pure functions of the model; the same
// in both directions of a pair.
#pragma once

#include <vector>

#include "p2p/gate/topology.hpp"

namespace duofi::p2p {

struct TopoPath {
    PathType type = PathType::dis;
    double gigabytes = 0;  ///< of the narrowest link
    int hops = 0;
    int through = -1;  ///< node of the device in the middle of an NVB path
};

/// Paths from every device to every node.
class PathTable {
  public:
    /// Data pass through a device only over two fast links, and only through devices that
    /// `may_relay` allows (by node). Better means: nearer type, then wider, then fewer hops, then the
    /// device in the middle with the lower node.
    PathTable(const TopoModel& model, const std::vector<bool>& may_relay);
    /// `from` is a device. Type DIS when there is no way.
    [[nodiscard]] const TopoPath& between(int from, int to) const {
        return rows_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    }

  private:
    std::vector<std::vector<TopoPath>> rows_;  // by node; empty for nodes that are no devices
};

}  // namespace duofi::p2p
