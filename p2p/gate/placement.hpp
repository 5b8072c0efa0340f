// Where the ranks of a communicator sit on their machines, and the paths between them. Constant once
// made; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "p2p/gate/paths.hpp"

namespace duofi::p2p {

/// A path between two ranks of one server.
struct RankPath {
    TopoPath path;
    int relay_rank = -1;        ///< lowest rank on the device in the middle of an NVB path
    double net_gigabytes = 0;   ///< of the NICs that both reach over PXB or better; 0: none
};

class Placement {
  public:
    /// `machine` describes each server; NULL, or a machine that is not complete: devices that are
    /// not in it come from the records. `nvb`: paths may go through other devices.
    Placement(std::shared_ptr<const TopoModel> machine, std::span<const ncclPeerInfo> ranks, bool nvb);

    /// Whether the rank's device is on its machine.
    [[nodiscard]] bool knows(const ncclPeerInfo& rank) const;
    /// The path between two ranks of one server; type DIS when one of the devices is not known.
    [[nodiscard]] RankPath path(const ncclPeerInfo& a, const ncclPeerInfo& b) const;
    /// Paths from the rank's device to the NICs of its machine, in the order of their nodes.
    [[nodiscard]] std::vector<PathType> nic_paths(const ncclPeerInfo& rank) const;
    /// The machine of a rank; NULL for a server without ranks here.
    [[nodiscard]] const TopoModel* machine_of(const ncclPeerInfo& rank) const;

  private:
    struct Server {
        std::shared_ptr<const TopoModel> model;
        std::shared_ptr<const PathTable> paths;
        std::map<std::int64_t, int> devices;  ///< node by bus id
        std::vector<int> lowest_rank;         ///< by node, -1: none
    };
    [[nodiscard]] const Server* server_of(const ncclPeerInfo& rank) const;
    [[nodiscard]] static double net_between(const Server& server, int a, int b);
    void add_server(std::uint64_t host, std::span<const ncclPeerInfo> ranks, bool nvb);

    std::shared_ptr<const TopoModel> machine_;
    std::map<std::uint64_t, Server> servers_;  // by host hash
};

}  // namespace duofi::p2p
