// The machine's topology as hwloc sees it, behind an opaque owner: hwloc is included in machine.cpp
// only. Loading takes tens of milliseconds, so it happens at the first question, once per process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/topology/io_tree.hpp"
#include "common/topology/pci_address.hpp"
#include "common/util/error.hpp"

namespace duofi::topology {

/// Which PCI devices a topology keeps.
enum class IoKeep {
    important,  ///< what hwloc takes for important by its class: network cards are
    all,        ///< accelerators too, whatever their class
};

class Machine {
  public:
    /// Reads this machine. Components that would start graphics or GPU libraries in the caller's
    /// process are blocked through the API; the environment is not touched. Errors: system.
    [[nodiscard]] static Result<Machine> load(IoKeep keep = IoKeep::important);
    /// A topology saved as XML, or hwloc's synthetic description ("numa:2 core:4"). Errors:
    /// invalid_argument.
    [[nodiscard]] static Result<Machine> from_xml(const std::string& path,
                                                  IoKeep keep = IoKeep::important);
    [[nodiscard]] static Result<Machine> from_synthetic(const std::string& description);
    /// This machine, loaded at the first call; null if that failed. Any thread.
    [[nodiscard]] static const Machine* of_this_process();

    Machine(Machine&&) noexcept;
    Machine& operator=(Machine&&) noexcept;
    ~Machine();

    /// NUMA node (operating system number) closest to a PCI device: nothing when the device is not
    /// known or is equally far from several nodes. Any thread.
    [[nodiscard]] std::optional<int> numa_node(const PciAddress& address) const;
    [[nodiscard]] int numa_node_count() const;
    /// Bridges, PCI devices and NUMA nodes; load with IoKeep::all to have them all. The caller
    /// fills in the source.
    [[nodiscard]] IoTree io_tree() const;

  private:
    struct Topology;
    explicit Machine(std::unique_ptr<Topology> topology) noexcept;
    std::unique_ptr<Topology> topology_;
};

}  // namespace duofi::topology
