// Stable 64-bit identities of devices (net contract 6.4): equal in every process of a node,
// different on different nodes. Any thread. Nothing here fails or throws for want of a file, an
// address or a network.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/topology/pci_address.hpp"
#include "common/topology/sysfs.hpp"

namespace duofi::topology {

/// Who this node is: hash of the kernel's boot id, or of the host name where that cannot be read.
[[nodiscard]] std::uint64_t host_id(const Sysfs& sysfs);

/// Identity of a PCI device on a node. Devices of one node never share one.
[[nodiscard]] std::uint64_t pci_guid(std::uint64_t host, const PciAddress& address) noexcept;

/// Identity of an interface without PCI device: the network namespace is part of it, since names
/// repeat in containers.
[[nodiscard]] std::uint64_t interface_guid(std::uint64_t host, const Sysfs& sysfs,
                                           std::string_view interface);

}  // namespace duofi::topology
