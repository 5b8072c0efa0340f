#include "common/topology/machine.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>

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

hwloc_type_filter_e filter_of(IoKeep keep) {
    return keep == IoKeep::all ? HWLOC_TYPE_FILTER_KEEP_ALL : HWLOC_TYPE_FILTER_KEEP_IMPORTANT;
}

std::string list_text(hwloc_const_bitmap_t set) {
    char* text = nullptr;
    if (set == nullptr || hwloc_bitmap_list_asprintf(&text, set) < 0) return {};
    std::string list(text);
    std::free(text);
    return list;
}

void describe_pci(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci, IoObject& object) {
    object.address = {pci.domain, pci.bus, pci.dev, pci.func};
    object.pci_class = pci.class_id;
    object.vendor = pci.vendor_id;
    object.device = pci.device_id;
    object.gigabytes = static_cast<double>(pci.linkspeed);
}

IoObject io_object(hwloc_obj_t found) {
    IoObject object;
    if (found->type == HWLOC_OBJ_PCI_DEVICE) {
        describe_pci(found->attr->pcidev, object);
        for (hwloc_obj_t child = found->io_first_child; child; child = child->next_sibling)
            if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr &&
                child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK)
                object.network = child->name;
    } else if (found->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
        object.kind = IoObject::Kind::bridge;
        describe_pci(found->attr->bridge.upstream.pci, object);
    } else {
        object.kind = IoObject::Kind::host_bridge;
    }
    return object;
}

std::vector<int> nodes_of(hwloc_const_bitmap_t set) {
    std::vector<int> nodes;
    for (int node = set ? hwloc_bitmap_first(set) : -1; node >= 0; node = hwloc_bitmap_next(set, node))
        nodes.push_back(node);
    return nodes;
}

/// Children of an object and theirs, parents first. The library's own search for a common ancestor
/// must not be asked about them (T-14).
void collect_io(hwloc_obj_t above, int parent, IoTree& tree) {
    for (hwloc_obj_t child = above->io_first_child; child != nullptr; child = child->next_sibling) {
        if (child->type != HWLOC_OBJ_BRIDGE && child->type != HWLOC_OBJ_PCI_DEVICE) continue;
        IoObject object = io_object(child);
        object.parent = parent;
        if (parent < 0) object.numa_nodes = nodes_of(above->nodeset);
        tree.objects.push_back(object);
        collect_io(child, static_cast<int>(tree.objects.size()) - 1, tree);
    }
}

void collect_below(hwloc_obj_t place, IoTree& tree) {
    collect_io(place, -1, tree);
    const std::vector<int> nodes = nodes_of(place->nodeset);
    if (!nodes.empty() && std::ranges::find(tree.places, nodes) == tree.places.end())
        tree.places.push_back(nodes);
    for (unsigned i = 0; i < place->arity; ++i) collect_below(place->children[i], tree);
}

}  // namespace

Machine::Machine(std::unique_ptr<Topology> topology) noexcept : topology_(std::move(topology)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Result<Machine> Machine::load(IoKeep keep) {
    // hwloc asks libudev for what is behind a PCI address, and libudev fills in a word of the process without a lock.
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    auto topology = std::make_unique<Topology>();
    if (hwloc_topology_init(&topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_init", errno);
    block_components(topology->handle);
    hwloc_topology_set_io_types_filter(topology->handle, filter_of(keep));
    if (hwloc_topology_load(topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_load", errno);
    return Machine(std::move(topology));
}

Result<Machine> Machine::from_xml(const std::string& path, IoKeep keep) {
    auto topology = std::make_unique<Topology>();
    if (hwloc_topology_init(&topology->handle) != 0)
        return fail(Errc::system, "hwloc_topology_init", errno);
    block_components(topology->handle);
    hwloc_topology_set_io_types_filter(topology->handle, filter_of(keep));
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

IoTree Machine::io_tree() const {
    IoTree tree;
    const hwloc_obj_t root = hwloc_get_root_obj(topology_->handle);
    for (hwloc_obj_t place : {root, hwloc_get_obj_by_type(topology_->handle, HWLOC_OBJ_PACKAGE, 0)})
        if (const char* value = place ? hwloc_obj_get_info_by_name(place, "CPUVendor") : nullptr)
            tree.cpu_vendor = value;
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology_->handle, HWLOC_OBJ_NUMANODE, node)))
        tree.numa.push_back({static_cast<int>(node->os_index), list_text(node->cpuset)});
    collect_below(root, tree);
    return tree;
}

}  // namespace duofi::topology
