// The description of this machine that tells NCCL how wide groups of NICs are (net contract 6.2). Text from plain data,
// and a file in memory to hold it. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/topology/io_tree.hpp"
#include "common/topology/pci_address.hpp"
#include "common/util/error.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::topology {

struct RailGroup {
    std::vector<PciAddress> nics;  ///< the leader first
};

struct PciLink {
    std::string_view speed;  ///< of a lane, as the kernel spells it: "16.0 GT/s PCIe"; static storage
    int lanes = 0;
    friend bool operator==(const PciLink&, const PciLink&) = default;
};

/// A link as wide as those of all NICs of the group together, but no wider than the widest link of the accelerators
/// that the leader is next to, where that is known. A NIC's link of unknown width has 8 lanes, one of unknown speed 16
/// GT/s. Not faster than the leader's while 16 lanes are enough; with more lanes than any real link has only where no
/// speed makes do.
[[nodiscard]] PciLink group_link(const IoTree& tree, const RailGroup& group);

/// NCCL's XML with the leader of each group of several NICs, the bridges above it that NCCL counts as switches, and
/// its NUMA node; "" when no such group is in the tree. NCCL finds the rest in sysfs. `host_hash` stands for this node:
/// CPUs with another one are those of another node to NCCL releases that do not put their own in its place. The tree is
/// that of this machine, after add_links.
[[nodiscard]] std::string topo_file_text(const IoTree& tree, std::span<const RailGroup> groups,
                                         std::uint64_t host_hash);

/// A file without a name on disk (duofi_topo) that holds `text`, to be read from its start as /proc/self/fd/N as long
/// as the descriptor is open. Programs that this process starts inherit the descriptor, since the variable that names
/// it is inherited too and NCCL may be initialised there. Errors: system.
[[nodiscard]] Result<UniqueFd> topo_file(std::string_view text);

}  // namespace duofi::topology
