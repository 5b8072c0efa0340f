#include "common/topology/netdev.hpp"

#include <limits>

namespace duofi::topology {
namespace {

/// Callers copy the last component into 32 bytes, unbounded (6.3).
constexpr std::size_t kLongestComponent = 31;

std::string_view last_component(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_pci_device(const Sysfs& sysfs, const std::string& path) {
    const auto subsystem = sysfs.link_text(path + "/subsystem");
    return subsystem && last_component(*subsystem) == "pci";
}

std::optional<PciPath> as_pci_path(std::string path) {
    const auto name = last_component(path);
    if (name.size() > kLongestComponent || name.size() == path.size()) return std::nullopt;
    const auto address = PciAddress::parse(name);
    if (!address) return std::nullopt;
    return PciPath{std::move(path), *address};
}

/// The nearest PCI device at or above `path`: virtio and similar buses sit below one.
std::optional<PciPath> nearest_pci(const Sysfs& sysfs, std::string path) {
    while (path.size() > 1) {
        if (is_pci_device(sysfs, path)) return as_pci_path(std::move(path));
        const auto slash = path.rfind('/');
        if (slash == std::string::npos) break;
        path.resize(slash);
    }
    return std::nullopt;
}

bool is_plain_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

}  // namespace

NetdevFacts netdev_facts(const Sysfs& sysfs, std::string_view interface, unsigned kernel_index) {
    NetdevFacts facts;
    if (!is_plain_name(interface)) return facts;
    const std::string base = "/sys/class/net/" + std::string(interface);
    const auto index = sysfs.number(base + "/ifindex");
    if (kernel_index != 0 && index && *index != static_cast<long>(kernel_index)) return facts;

    const auto real = sysfs.resolve(base);
    facts.is_virtual = real && real->rfind("/sys/devices/virtual/", 0) == 0;
    if (auto device = sysfs.resolve(base + "/device"))
        facts.pci = nearest_pci(sysfs, std::move(*device));
    const auto speed = sysfs.number(base + "/speed");
    if (speed && *speed > 0 && *speed <= std::numeric_limits<int>::max())
        facts.speed_mbps = static_cast<int>(*speed);
    return facts;
}

std::optional<PciPath> pci_path(const Sysfs& sysfs, const PciAddress& address) {
    auto path = sysfs.resolve("/sys/bus/pci/devices/" + address.text());
    if (!path) return std::nullopt;
    return as_pci_path(std::move(*path));
}

std::optional<int> numa_node(const Sysfs& sysfs, const PciPath& device) {
    const auto node = sysfs.number(device.path + "/numa_node");
    if (!node || *node < 0 || *node > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(*node);
}

}  // namespace duofi::topology
