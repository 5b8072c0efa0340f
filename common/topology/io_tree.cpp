#include "common/topology/io_tree.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

namespace duofi::topology {
namespace {

namespace fs = std::filesystem;

constexpr char kDevices[] = "/sys/bus/pci/devices";
constexpr char kNodes[] = "/sys/devices/system/node";
constexpr std::uint16_t kBridgeClass = 0x0604;
constexpr long kMostLanes = 32;

std::uint32_t hex_number(const Sysfs& sysfs, const std::string& path) {
    const auto line = sysfs.first_line(path);
    std::uint32_t value = 0;
    if (line && line->rfind("0x", 0) == 0)
        std::from_chars(line->data() + 2, line->data() + line->size(), value, 16);
    return value;
}

/// Names in a folder, sorted.
std::vector<std::string> names_in(const Sysfs& sysfs, const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator at(sysfs.root() / folder.substr(1), error);
    for (; !error && at != fs::directory_iterator(); at.increment(error))
        names.push_back(at->path().filename().string());
    std::ranges::sort(names);
    return names;
}

/// "8.0 GT/s PCIe" and 16 lanes: 8 Gbit/s per lane.
double link_gigabytes(const Sysfs& sysfs, const std::string& folder) {
    const auto speed = sysfs.first_line(folder + "/current_link_speed");
    const auto lanes = sysfs.number(folder + "/current_link_width");
    double transfers = 0;
    if (!speed || !lanes || *lanes <= 0 || *lanes > kMostLanes) return 0;
    std::istringstream(*speed) >> transfers;
    return transfers * static_cast<double>(*lanes) / 8;
}

/// "16.0 GT/s PCIe"; 0 for "Unknown".
double link_speed(const Sysfs& sysfs, const std::string& folder) {
    const auto text = sysfs.first_line(folder + "/max_link_speed");
    double speed = 0;
    if (text) std::istringstream(*text) >> speed;
    return speed;
}

/// 0 for 255, which stands for unknown.
int link_width(const Sysfs& sysfs, const std::string& folder) {
    const auto lanes = sysfs.number(folder + "/max_link_width");
    return lanes && *lanes > 0 && *lanes <= kMostLanes ? static_cast<int>(*lanes) : 0;
}

template <typename Number>
Number lesser_known(Number one, Number other) {
    return one > 0 && other > 0 ? std::min(one, other) : std::max(one, other);
}

void describe_link(const Sysfs& sysfs, const std::string& folder, IoObject& object) {
    const std::string above = folder + "/..";
    object.link_speed = lesser_known(link_speed(sysfs, folder), link_speed(sysfs, above));
    object.link_width = lesser_known(link_width(sysfs, folder), link_width(sysfs, above));
    if (const auto node = sysfs.number(folder + "/numa_node")) object.kernel_node = static_cast<int>(*node);
}

class Reader {
  public:
    explicit Reader(const Sysfs& sysfs) : sysfs_(sysfs) { tree_.source = "sysfs"; }

    IoTree run() {
        read_numa();
        for (const std::string& name : names_in(sysfs_, kDevices))
            if (const auto path = sysfs_.resolve(std::string(kDevices) + "/" + name)) add_path(*path);
        return std::move(tree_);
    }

  private:
    void read_numa() {
        for (const std::string& name : names_in(sysfs_, kNodes)) {
            int number = -1;
            if (name.rfind("node", 0) != 0) continue;
            std::from_chars(name.data() + 4, name.data() + name.size(), number);
            if (number < 0) continue;
            const auto cpus = sysfs_.first_line(std::string(kNodes) + "/" + name + "/cpulist");
            tree_.numa.push_back({number, cpus.value_or("")});
        }
        std::ranges::sort(tree_.numa, {}, &IoTree::Numa::number);
    }

    /// "/sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0": all of its bridges, then the device.
    void add_path(const std::string& path) {
        std::string so_far;
        int parent = -1;
        std::istringstream parts(path.substr(1));
        for (std::string part; std::getline(parts, part, '/');) {
            so_far += "/" + part;
            const auto address = PciAddress::parse(part);
            if (!address && part.rfind("pci", 0) != 0) continue;
            const auto known = seen_.find(so_far);
            parent = known != seen_.end() ? known->second : add(so_far, address, parent);
        }
    }

    int add(const std::string& folder, const std::optional<PciAddress>& address, int parent) {
        IoObject object;
        object.parent = parent;
        if (address) {
            describe(folder, *address, object);
        } else {
            object.kind = IoObject::Kind::host_bridge;
        }
        tree_.objects.push_back(object);
        const int index = static_cast<int>(tree_.objects.size()) - 1;
        seen_[folder] = index;
        if (address) note_place(folder, index);
        return index;
    }

    void describe(const std::string& folder, const PciAddress& address, IoObject& object) const {
        object.address = address;
        object.pci_class = static_cast<std::uint16_t>(hex_number(sysfs_, folder + "/class") >> 8);
        object.vendor = static_cast<std::uint16_t>(hex_number(sysfs_, folder + "/vendor"));
        object.device = static_cast<std::uint16_t>(hex_number(sysfs_, folder + "/device"));
        object.kind =
            object.pci_class == kBridgeClass ? IoObject::Kind::bridge : IoObject::Kind::device;
        object.gigabytes = link_gigabytes(sysfs_, folder);
        describe_link(sysfs_, folder, object);
        const auto networks = names_in(sysfs_, folder + "/net");
        if (!networks.empty()) object.network = networks.front();
    }

    /// The kernel tells the node at each device; the tree keeps it at the host bridge.
    void note_place(const std::string& folder, int index) {
        const auto node = sysfs_.number(folder + "/numa_node");
        if (!node || *node < 0) return;
        int top = index;
        while (tree_.objects[static_cast<std::size_t>(top)].parent >= 0)
            top = tree_.objects[static_cast<std::size_t>(top)].parent;
        IoObject& host = tree_.objects[static_cast<std::size_t>(top)];
        if (host.kind == IoObject::Kind::host_bridge && host.numa_nodes.empty())
            host.numa_nodes.push_back(static_cast<int>(*node));
    }

    const Sysfs& sysfs_;
    IoTree tree_;
    std::map<std::string, int> seen_;
};

}  // namespace

IoTree read_io_tree(const Sysfs& sysfs) {
    return Reader(sysfs).run();
}

void add_links(const Sysfs& sysfs, IoTree& tree) {
    for (IoObject& object : tree.objects)
        if (object.kind != IoObject::Kind::host_bridge)
            describe_link(sysfs, std::string(kDevices) + "/" + object.address.text(), object);
}

}  // namespace duofi::topology
