// Which NICs make one device of the tables, and the file that tells callers how wide it is (net contract 6.1, 6.2). The net and
// the RMA tables ask here both: their lists must be equal (L-20). Used by init.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ofi/device_list.hpp"
#include "common/topology/io_tree.hpp"
#include "common/topology/nic_groups.hpp"
#include "common/util/error.hpp"
#include "common/util/settings.hpp"
#include "common/topology/platform.hpp"

namespace duofi::ofi {

/// The rails of one device, the leader first; pointers into the device list.
using RailInfos = std::vector<const DeviceInfo*>;

struct RailRules {
    bool written = false;          ///< large messages move by writes (protocol RDMA), which groups are for
    bool accelerators = true;      ///< false: NICs are not grouped by what they are next to (Neuron)
    bool sort_by_function = false; ///< see topology::GroupRules
    /// The machine's PCI devices; asked for only if there are NICs to group.
    std::function<Result<topology::IoTree>()> tree;
};

/// All PCI devices of this machine; tens of milliseconds. Errors: those of topology::Machine::load.
[[nodiscard]] Result<topology::IoTree> machine_tree();

/// Will the net tables move large messages by writes? What the user, else the platform, else the provider says.
[[nodiscard]] bool writes_planned(const Settings& settings, const topology::Platform& platform);
/// What they do, once they are initialised: a plan can fail. A warning if the RMA tables had to show another list before. Any thread.
void settle_writes(bool written) noexcept;
/// The RMA tables have made their list, for as long as the library is loaded.
void show_writes(bool written) noexcept;
[[nodiscard]] std::optional<bool> settled_writes() noexcept;

/// The devices in the order of the list. Without writes each NIC is one. Under RDMA those next to the same accelerator are one,
/// OFI_NCCL_FORCE_NUM_RAILS limits them. DUOFI_NET_TCP_RAILS=n makes devices of n rails of NICs that are not grouped so: of n that
/// follow each other in the list, and where there are fewer with several connections over each.
/// Errors: invalid_argument when a group is larger than topology::kMaxRails, logged.
[[nodiscard]] Result<std::vector<RailInfos>> rail_groups(const DeviceList& list, const Settings& settings,
                                                         const RailRules& rules);

/// maxComms of every device: callers take it from whichever kind of table they ask first (net contract 3.8, L-20).
[[nodiscard]] int most_comms(bool written) noexcept;

/// Mbit/s of all NICs among the rails; a NIC that carries several counts once.
[[nodiscard]] int speed_of(const RailInfos& rails) noexcept;

/// Value for NCCL_TOPO_FILE; "" where no device has several NICs of the PCI bus. The file is never closed: whoever inherits the
/// variable may read it.
[[nodiscard]] std::string publish_topology(const std::vector<RailInfos>& groups, const RailRules& rules);

}  // namespace duofi::ofi
