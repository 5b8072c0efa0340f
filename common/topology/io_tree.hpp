// PCI bridges and devices of a machine with what they hang on, as plain data: what hwloc, or sysfs where
// there is no hwloc topology, knows of them. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/topology/pci_address.hpp"
#include "common/topology/sysfs.hpp"

namespace duofi::topology {

struct IoObject {
    enum class Kind : std::uint8_t {
        host_bridge,  ///< its address is not one
        bridge,
        device,
    };
    Kind kind = Kind::device;
    int parent = -1;  ///< object that it hangs on, always in front of it; -1 for host bridges
    PciAddress address;
    std::uint16_t pci_class = 0;  ///< class and subclass
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
    double gigabytes = 0;  ///< per second of its link upwards, 0 when not known
    double link_speed = 0;  ///< most transfers per second and lane (10^9) of that link, 0 when not known; sysfs only
    int link_width = 0;     ///< most lanes of that link, 0 when not known; sysfs only
    std::optional<int> kernel_node;  ///< what the kernel writes down for the device, -1 too; sysfs only
    /// NUMA nodes that a host bridge is next to: the place of everything below it. Empty: not known.
    std::vector<int> numa_nodes;
    std::string network;  ///< name of its network interface, "" when none is known
};

struct IoTree {
    struct Numa {
        int number = 0;
        std::string cpus;  ///< "0-3,8"
    };
    std::string source;  ///< "hwloc live", "XML file a.xml", "sysfs"
    std::string cpu_vendor;
    std::vector<Numa> numa;
    /// Sets of NUMA nodes that places above host bridges have (packages, groups), each one once; hwloc only.
    std::vector<std::vector<int>> places;
    std::vector<IoObject> objects;
};

/// The tree from sysfs alone. Without a PCI bus there are just NUMA nodes.
[[nodiscard]] IoTree read_io_tree(const Sysfs& sysfs);

/// What only sysfs tells of the objects of a tree of this machine: link speed and width, the kernel's node. The link is
/// as good as both of its ends, and what it could be counts: an idle device slows it down.
void add_links(const Sysfs& sysfs, IoTree& tree);

}  // namespace duofi::topology
