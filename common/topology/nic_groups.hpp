// Which NICs together form one device of several rails: those next to the same accelerators in the PCIe tree (net
// contract 6.1). Plain data in, plain data out; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/topology/io_tree.hpp"
#include "common/topology/pci_address.hpp"
#include "common/util/error.hpp"

namespace duofi::topology {

/// Most NICs of one device.
inline constexpr std::size_t kMaxRails = 4;

struct GroupRules {
    int force_rails = 0;  ///< OFI_NCCL_FORCE_NUM_RAILS: most NICs of a group, 1 to kMaxRails; 0 = as found
    bool accelerators = true;  ///< false: none are known (Neuron), so every NIC stands alone
    /// NICs that no accelerator is next to are left out. Without effect when no accelerators are known, and on NICs
    /// that are not in the tree: of those nobody knows.
    bool skip_without_accelerator = false;
    bool sort_by_function = false;  ///< rails by PCI function number, then by address; the first one leads (AWS)
};

/// True for what NICs are grouped by: display controllers of NVIDIA and AMD, and AMD's processing accelerators.
[[nodiscard]] bool attracts_nics(const IoObject& object) noexcept;

/// Groups as indices into `nics`, the leader first, in the order of their leaders in `nics`. Each accelerator asks for
/// one group at the nearest place above it that has a NIC below; the NICs of a place, in the order of their addresses,
/// are dealt to the groups asked for there. So the order of `nics` does not decide who is with whom. Wherever NICs are
/// dealt, with force_rails too, the parts are consecutive, their sizes differ by at most one, and the larger ones come
/// first: 5 NICs with force_rails 4 are 3 and 2. A NIC that is not in the tree, or has no accelerator near, is a group
/// of its own. Load the tree with IoKeep::all. Errors: invalid_argument, when a group would have more than kMaxRails
/// NICs or force_rails is out of range.
[[nodiscard]] Result<std::vector<std::vector<std::size_t>>> group_nics(const IoTree& tree,
                                                                       std::span<const PciAddress> nics,
                                                                       const GroupRules& rules);

}  // namespace duofi::topology
