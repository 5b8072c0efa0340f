// Facts about network interfaces and PCI devices for the caller's topology. Any thread; reads
// files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/topology/pci_address.hpp"
#include "common/topology/sysfs.hpp"

namespace duofi::topology {

/// A device path as callers want it, and the address that it ends in.
struct PciPath {
    std::string path;  ///< "/sys/devices/pci0000:00/0000:00:03.0"
    PciAddress address;
};

struct NetdevFacts {
    std::optional<PciPath>
        pci;  ///< nothing for loopback, bridges, veth, or without sysfs (6.3, L-21)
    std::optional<int> speed_mbps;  ///< Mbit/s; nothing when the kernel says -1 or nothing (6.4)
    bool is_virtual = false;        ///< below /sys/devices/virtual
};

/// Facts of one interface. `kernel_index` (0 = not checked) guards against a sysfs of another
/// network namespace: when it differs from the index in sysfs, nothing is reported.
[[nodiscard]] NetdevFacts netdev_facts(const Sysfs& sysfs, std::string_view interface,
                                       unsigned kernel_index = 0);

/// Path of a PCI device, from the bus address that a provider reports (6.3 first row).
[[nodiscard]] std::optional<PciPath> pci_path(const Sysfs& sysfs, const PciAddress& address);

/// NUMA node that the kernel reports for a PCI device; nothing when unknown.
[[nodiscard]] std::optional<int> numa_node(const Sysfs& sysfs, const PciPath& device);

}  // namespace duofi::topology
