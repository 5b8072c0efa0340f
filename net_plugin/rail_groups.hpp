// Which NICs make one device of the plugin, and the file that tells callers how wide it is (net contract 6.1, 6.2). Used once, by
// init.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"
#include "common/topology/io_tree.hpp"
#include "common/topology/nic_groups.hpp"
#include "common/util/error.hpp"
#include "common/util/settings.hpp"
#include "net_plugin/protocol_select.hpp"

namespace duofi::net {

/// The rails of one device, the leader first; pointers into the device list.
using RailInfos = std::vector<const ofi::DeviceInfo*>;

struct RailRules {
    ProtocolKind protocol = ProtocolKind::sendrecv;
    bool accelerators = true;      ///< false: NICs are not grouped by what they are next to (Neuron)
    bool sort_by_function = false; ///< see topology::GroupRules
    /// The machine's PCI devices; asked for only if there are NICs to group.
    std::function<Result<topology::IoTree>()> tree;
};

/// The devices in the order of the list. Under SENDRECV each NIC is one. Under RDMA those next to the same accelerator are one,
/// OFI_NCCL_FORCE_NUM_RAILS limits them. DUOFI_NET_TCP_RAILS=n makes devices of n rails of NICs that are not grouped so: of n that
/// follow each other in the list, and where there are fewer with several connections over each.
/// Errors: invalid_argument when a group is larger than topology::kMaxRails, logged.
[[nodiscard]] Result<std::vector<RailInfos>> rail_groups(const ofi::DeviceList& list, const Settings& settings,
                                                         const RailRules& rules);

/// Value for NCCL_TOPO_FILE; "" where no device has several NICs of the PCI bus. The file is never closed: whoever inherits the
/// variable may read it.
[[nodiscard]] std::string publish_topology(const std::vector<RailInfos>& groups, const RailRules& rules);

}  // namespace duofi::net
