// One machine as the gate sees it: devices, switches, CPUs, network cards and the links between them, as
// plain data. Every source (hwloc, sysfs, XML, descriptions, records of ranks) ends in a TopoModel.
// Built by one thread, then constant.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "p2p/abi.h"
#include "p2p/gate/levels.hpp"
#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

enum class NodeKind : std::uint8_t {
    device,
    fast_switch,  ///< joins fast links
    pci_switch,
    cpu,  ///< one NUMA node
    nic,
};

struct TopoLink {
    int to = -1;
    PathType type = PathType::dis;  ///< least type of a path over it
    double gigabytes = 0;           ///< per second and direction
};

struct TopoNode {
    NodeKind kind = NodeKind::device;
    /// Bus id of devices, switches and NICs; number of a NUMA node, -1 for a place above several.
    std::int64_t id = 0;
    std::string name;      ///< of a NIC
    std::string affinity;  ///< of a CPU node: list of its CPUs, "" when not known
    int pci_class = 0;     ///< class and subclass, such as 0x0302; 0 when not known
    DeviceInfo device;     ///< of a device
    std::vector<TopoLink> links;
};

struct TopoModel {
    std::string source;      ///< where it comes from, for people: "hwloc live", "XML file a.xml"
    std::string cpu_vendor;  ///< "AuthenticAMD", ...; "" when not known
    bool complete = false;   ///< devices that are not in it do not exist
    std::vector<TopoNode> nodes;

    int add(TopoNode node);
    /// Both ways. Links of the same kind between two nodes add up.
    void connect(int a, int b, PathType type, double gigabytes);
    /// The type follows from the kinds of the nodes: what PCIe and CPU links are.
    void connect_pci(int a, int b, double gigabytes);
    /// The CPU node of that number; made when it is not there.
    int cpu(int numa);
    /// Links all CPU nodes that are not linked yet with each other.
    void connect_cpus();

    [[nodiscard]] bool linked(int a, int b) const;
    /// Nodes of one kind, in order.
    [[nodiscard]] std::vector<int> of_kind(NodeKind kind) const;
    /// Device nodes in the order of their numbers, then of their bus ids.
    [[nodiscard]] std::vector<int> devices() const;
    [[nodiscard]] std::optional<int> find(NodeKind kind, std::int64_t id) const;
    /// NUMA node next to a node; -1 when not known.
    [[nodiscard]] int numa_of(int node) const;
    [[nodiscard]] bool has_fast_links() const;
    [[nodiscard]] const TopoNode& node(int index) const {
        return nodes[static_cast<std::size_t>(index)];
    }
};

/// GB/s of what no source gives a number for.
inline constexpr double kCpuLinkGigabytes = 16;
inline constexpr double kPciLinkGigabytes = 16;
inline constexpr double kFastLinkGigabytes = 20;

/// "0000:17:00.0" and back: the bus id is the address's hexadecimal digits, one after the other
/// (p2p contract 3.6). Nothing for texts that are no PCI address.
[[nodiscard]] std::string bus_text(std::int64_t bus_id);
[[nodiscard]] std::optional<std::int64_t> parse_bus_text(std::string_view text);

/// Of devices that have no PCI address: domain 0xffff, the device's number as bus.
[[nodiscard]] constexpr std::int64_t made_up_bus_id(int device) noexcept {
    return std::int64_t{0xffff} << 20 | static_cast<std::int64_t>(device) << 12;
}

/// The machine that ranks of one node describe: their devices, each beside its NUMA node, Neuron
/// devices with the links of their family.
[[nodiscard]] TopoModel model_of_records(std::span<const ncclPeerInfo> records);

}  // namespace duofi::p2p
