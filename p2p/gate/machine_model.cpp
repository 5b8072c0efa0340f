#include "p2p/gate/machine_model.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/topology/machine.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_gate.hpp"
#include "p2p/gate/nccl_xml.hpp"

namespace duofi::p2p {
namespace {

using topology::IoObject;
using topology::IoTree;

constexpr std::uint16_t kNvidia = 0x10de, kAmd = 0x1002, kAmazon = 0x1d0f;
constexpr int kNetworkClass = 0x02;
constexpr int kPlaceAboveNodes = -1;

std::int64_t bus_of(const topology::PciAddress& address) {
    return *parse_bus_text(address.text());
}

/// What a bridge is inside the PCIe hierarchy.
enum class Role { host, root_port, upstream_port, downstream_port };

class Builder {
  public:
    Builder(const IoTree& tree, Accelerators accelerators)
        : tree_(tree),
          accelerators_(accelerators),
          roles_(tree.objects.size()),
          nodes_(tree.objects.size(), -1) {}

    TopoModel run() {
        model_.source = tree_.source;
        model_.cpu_vendor = tree_.cpu_vendor;
        for (const IoTree::Numa& numa : tree_.numa)
            model_.nodes[static_cast<std::size_t>(model_.cpu(numa.number))].affinity = numa.cpus;
        if (tree_.numa.empty()) (void)model_.cpu(0);
        for (std::size_t i = 0; i < tree_.objects.size(); ++i) roles_[i] = role_of(object(i));
        for (const std::size_t index : cards()) add_card(object(index));
        model_.connect_cpus();
        return std::move(model_);
    }

  private:
    [[nodiscard]] const IoObject& object(std::size_t index) const { return tree_.objects[index]; }

    /// Ports alternate on the way down: a root port, then both ends of each switch.
    [[nodiscard]] Role role_of(const IoObject& object) const {
        if (object.kind == IoObject::Kind::host_bridge) return Role::host;
        if (object.parent < 0) return Role::root_port;
        switch (roles_[static_cast<std::size_t>(object.parent)]) {
            case Role::host: return Role::root_port;
            case Role::upstream_port: return Role::downstream_port;
            default: return Role::upstream_port;
        }
    }

    [[nodiscard]] bool wanted(const IoObject& object) const {
        if (object.kind != IoObject::Kind::device) return false;
        if (object.pci_class >> 8 == kNetworkClass) return true;
        return accelerators_ == Accelerators::all && is_accelerator(object);
    }

    [[nodiscard]] std::vector<std::size_t> cards() const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < tree_.objects.size(); ++i)
            if (wanted(object(i))) found.push_back(i);
        std::ranges::sort(found, {}, [this](std::size_t i) { return object(i).address; });
        return found;
    }

    int place(const IoObject& top) {
        if (top.numa_nodes.size() == 1) return model_.cpu(top.numa_nodes.front());
        if (tree_.numa.size() == 1) return model_.cpu(tree_.numa.front().number);
        return model_.cpu(tree_.numa.empty() ? 0 : kPlaceAboveNodes);
    }

    /// The node that things below object `index` hang on.
    int node_below(int index) {
        if (index < 0) return place({});
        const auto at = static_cast<std::size_t>(index);
        if (nodes_[at] >= 0) return nodes_[at];
        return nodes_[at] = make_node(at);
    }

    int make_node(std::size_t index) {
        const IoObject& bridge = object(index);
        if (roles_[index] == Role::host) return place(bridge);
        if (roles_[index] == Role::downstream_port) return node_below(bridge.parent);
        const int above = bridge.parent < 0 ? place(bridge) : node_below(bridge.parent);
        TopoNode node;
        node.kind = NodeKind::pci_switch;
        node.id = bus_of(bridge.address);
        node.pci_class = bridge.pci_class;
        const int made = model_.add(std::move(node));
        model_.connect_pci(made, above, width(bridge));
        return made;
    }

    static double width(const IoObject& object) {
        return object.gigabytes > 0 ? object.gigabytes : kPciLinkGigabytes;
    }

    void add_card(const IoObject& card) {
        const int above = card.parent < 0 ? place(card) : node_below(card.parent);
        TopoNode node;
        node.id = bus_of(card.address);
        node.pci_class = card.pci_class;
        if (card.pci_class >> 8 == kNetworkClass) {
            node.kind = NodeKind::nic;
            node.name = card.network;
        } else {
            node.device.host_device = next_device_++;
            node.device.numa_node = model_.numa_of(above);
        }
        model_.connect_pci(model_.add(std::move(node)), above, width(card));
    }

    const IoTree& tree_;
    Accelerators accelerators_;
    TopoModel model_;
    std::vector<Role> roles_;
    std::vector<int> nodes_;  // of the model, by object
    int next_device_ = 0;
};

/// hwloc says of a broken file only that it is broken: look at what we need of it first.
FileResult<void> check_hwloc_objects(const XmlElement& element) {
    if (element.name == "object") {
        const std::string* type = element.find("type");
        if (type == nullptr)
            return file_fault(element.line, "<object> has no type, expected one such as PCIDev");
        const std::string* bus = element.find("pci_busid");
        if (*type == "PCIDev" && bus == nullptr)
            return file_fault(element.line, "<object type=\"PCIDev\"> has no pci_busid, expected a PCI "
                                            "address such as 0000:17:00.0");
        if (bus != nullptr && !parse_bus_text(*bus))
            return file_fault(element.line,
                              fmt::format("<object> has pci_busid=\"{}\", expected a PCI address such "
                                          "as 0000:17:00.0",
                                          *bus));
    }
    for (const XmlElement& child : element.children)
        if (auto checked = check_hwloc_objects(child); !checked) return checked;
    return {};
}

FileResult<TopoModel> model_of_hwloc_file(const std::string& path, const XmlElement& root) {
    if (auto checked = check_hwloc_objects(root); !checked)
        return tl::unexpected<FileFault>(checked.error());
    const auto machine = topology::Machine::from_xml(path, topology::IoKeep::all);
    if (!machine)
        return file_fault(root.line, "hwloc does not accept it, expected what lstopo writes");
    return model_of_tree(machine->io_tree(), Accelerators::all);
}

IoTree tree_of_this_machine() {
    const auto machine = topology::Machine::load(topology::IoKeep::all);
    IoTree tree = machine ? machine->io_tree() : topology::read_io_tree(topology::Sysfs());
    tree.source = machine ? "hwloc live" : "fallback: sysfs";
    return tree;
}

}  // namespace

bool is_accelerator(const IoObject& object) noexcept {
    switch (object.pci_class) {
        case 0x0300: return object.vendor == kNvidia || object.vendor == kAmd;
        case 0x0302:
        case 0x0380:
        case 0x1200: return true;
        case 0x0880: return object.vendor == kAmazon;
        default: return false;
    }
}

TopoModel model_of_tree(const IoTree& tree, Accelerators accelerators) {
    return Builder(tree, accelerators).run();
}

TopoModel model_of_this_machine(Accelerators accelerators) {
    // Read once, however many communicators ask. Other statics may still be in use at exit.
    static const IoTree& tree = *new IoTree(tree_of_this_machine());
    return model_of_tree(tree, accelerators);
}

FileResult<TopoModel> model_of_file(const std::string& path) {
    const auto text = read_text_file(path);
    if (!text) return tl::unexpected<FileFault>(text.error());
    const auto root = parse_xml(*text);
    if (!root) return tl::unexpected<FileFault>(root.error());
    if (root->name != "system" && root->name != "topology")
        return file_fault(root->line,
                          fmt::format("<{}> is the root, expected <topology> of hwloc or <system> of NCCL",
                                      root->name));
    auto model = root->name == "system" ? model_of_nccl_xml(*root) : model_of_hwloc_file(path, *root);
    if (!model) return model;
    model->source = "XML file " + path;
    model->complete = true;
    return model;
}

Result<TopoModel> load_model(const char* named_by, const std::string& path) {
    auto model = model_of_file(path);
    if (model) return std::move(*model);
    log::warn(NCCL_INIT | NCCL_P2P, messages::kTopologyFile, named_by, path, model.error().line,
              model.error().reason);
    return fail(Errc::invalid_argument, "topology file");
}

}  // namespace duofi::p2p
