#include "common/topology/machine.hpp"

#include <hwloc.h>

#include <cerrno>

namespace duofi::topology {

struct Machine::Topology {
    hwloc_topology_t handle = nullptr;
    Topology() = default;
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;
    ~Topology() {
        if (handle != nullptr) hwloc_topology_destroy(handle);
    }
};

namespace {

/// Components that open graphics or GPU libraries, and "pci", whose library keeps memory after the
/// topology is gone: hwloc finds PCI devices in sysfs without it. A name that is not present is an
/// error to ignore.
void block_components(hwloc_topology_t topology) {
    for (const char* name : {"gl", "opencl", "cuda", "nvml", "rsmi", "levelzero", "pci"})
        (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            name);
}

}  // namespace

Machine::Machine(std::unique_ptr<Topology> topology) noexcept : topology_(std::move(topology)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Result<Machine> Machine::load() {
    auto topology = std::make_unique<Topology>();
    if (hwloc_topology_init(&topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_init", errno);
    block_components(topology->handle);
    hwloc_topology_set_io_types_filter(topology->handle, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_load", errno);
    return Machine(std::move(topology));
}

Result<Machine> Machine::from_xml(const std::string& path) {
    auto topology = std::make_unique<Topology>();
    if (hwloc_topology_init(&topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_init", errno);
    block_components(topology->handle);
    hwloc_topology_set_io_types_filter(topology->handle, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_set_xml(topology->handle, path.c_str()) != 0 ||
        hwloc_topology_load(topology->handle) != 0)
        return fail(Errc::invalid_argument, "hwloc_topology_set_xml", errno);
    return Machine(std::move(topology));
}

Result<Machine> Machine::from_synthetic(const std::string& description) {
    auto topology = std::make_unique<Topology>();
    if (hwloc_topology_init(&topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_init", errno);
    block_components(topology->handle);
    if (hwloc_topology_set_synthetic(topology->handle, description.c_str()) != 0 ||
        hwloc_topology_load(topology->handle) != 0)
        return fail(Errc::invalid_argument, "hwloc_topology_set_synthetic", errno);
    return Machine(std::move(topology));
}

const Machine* Machine::of_this_process() {
    static const Result<Machine> machine = load();
    return machine ? &*machine : nullptr;
}

std::optional<int> Machine::numa_node(const PciAddress& address) const {
    const hwloc_obj_t device = hwloc_get_pcidev_by_busid(
        topology_->handle, address.domain, address.bus, address.device, address.function);
    if (device == nullptr) return std::nullopt;
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology_->handle, device);
    if (place == nullptr || place->nodeset == nullptr || hwloc_bitmap_weight(place->nodeset) != 1)
        return std::nullopt;
    return hwloc_bitmap_first(place->nodeset);
}

int Machine::numa_node_count() const {
    return hwloc_get_nbobjs_by_type(topology_->handle, HWLOC_OBJ_NUMANODE);
}

}  // namespace duofi::topology
