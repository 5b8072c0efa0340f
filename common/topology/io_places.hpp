// What is above a PCI device, up to the root of the machine: bridges, the host bridge, then the places that host
// bridges hang on. Built from plain data and constant afterwards; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/topology/io_tree.hpp"

namespace duofi::topology {

/// Every object of a tree, by its index there, then the places above, then the root. Places are told apart by their
/// NUMA nodes; one hangs on the smallest place that has more nodes than it and all of its own. A host bridge of which
/// the nodes are not known hangs on the root.
class IoPlaces {
  public:
    /// Keeps nothing of `tree`.
    explicit IoPlaces(const IoTree& tree);

    /// Objects, places and the root.
    [[nodiscard]] std::size_t size() const noexcept { return above_.size(); }
    /// What object or place `index` hangs on; nothing above the root.
    [[nodiscard]] std::optional<std::size_t> above(std::size_t index) const noexcept {
        return index == root() ? std::nullopt : std::optional(above_[index]);
    }
    [[nodiscard]] std::size_t root() const noexcept { return above_.size() - 1; }

  private:
    std::vector<std::size_t> above_;
};

/// Device with this address, by its index in the tree.
[[nodiscard]] std::optional<std::size_t> find_device(const IoTree& tree, const PciAddress& address) noexcept;

}  // namespace duofi::topology
