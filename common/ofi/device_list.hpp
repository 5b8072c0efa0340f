// The one list of devices that every table of the package shows (A9, L-20). Plain data, no open
// object.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ofi/quirks.hpp"
#include "common/ofi/selection.hpp"
#include "common/topology/sysfs.hpp"
#include "common/util/error.hpp"

namespace duofi::ofi {

/// One NIC (or one copy of it with OFI_NCCL_NIC_DUP_CONNS). Strings live as long as the list, which
/// lives as long as the library (L-22).
struct DeviceInfo {
    std::string name;  ///< "duofi_<domain>[_n]", unique in the list (L-20)
    std::optional<std::string>
        pci_path;            ///< resolved sysfs path ending in a PCI address (6.3, L-21)
    std::optional<topology::PciAddress> pci;  ///< also where sysfs shows no path
    std::uint64_t guid = 0;  ///< equal for the copies of one NIC only (6.4)
    int speed_mbps = 10000;  ///< Mbit/s, > 0 (6.4, L-23)
    int port = 1;
    int numa_node = -1;       ///< as the kernel reports it; -1 = unknown
    std::string provider;     ///< "tcp;ofi_rxm", "net", ...
    std::string domain_name;  ///< libfabric domain: the interface for tcp, "mlx5_0", ...
    std::string fabric_name;
    std::string address;             ///< local address as text, "" if the provider has none
    std::uint64_t max_msg_size = 0;  ///< bytes
    std::uint64_t caps = 0;          ///< granted FI_* capabilities
    bool confirms_writes = false;    ///< a write can complete when the target has it; known for one-sided use only
    EndpointCost endpoint_cost = EndpointCost::cheap;
    std::shared_ptr<fi_info> info;  ///< own deep copy; do not change it, copy it
};

/// Something that libfabric offered and that is not a device, and why.
struct Refusal {
    std::string provider, domain, address, reason;
};

struct DeviceList {
    std::vector<DeviceInfo> devices;  ///< order: PCI address, then interface name; without PCI last
    std::vector<Refusal> refusals;    ///< in the order of libfabric, equal lines once
    std::uint32_t libfabric_version = 0;  ///< packed as FI_VERSION
    std::uint32_t api_version = 0;        ///< packed; the one the entries were asked with
    std::string provider, fabric;         ///< of the first device
};

/// Reduces one entry of fi_getinfo to what selection looks at. `unmet` is left empty.
[[nodiscard]] Candidate candidate_from(const fi_info& info, const topology::Sysfs& sysfs);

/// All facts of one device except its name. Copies the entry. Errors: no_memory.
[[nodiscard]] Result<DeviceInfo> describe_device(const fi_info& info,
                                                 std::uint32_t libfabric_version,
                                                 const topology::Sysfs& sysfs);

}  // namespace duofi::ofi
