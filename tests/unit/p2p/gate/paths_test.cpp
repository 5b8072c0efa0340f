// Best paths over typed links (p2p contract 3.2).
// Units: p2p/gate/paths, p2p/gate/topology.
#include "p2p/gate/paths.hpp"

#include <gtest/gtest.h>

namespace duofi::p2p::test {
namespace {

struct Built {
    TopoModel machine;
    int device(std::int64_t id) {
        TopoNode node;
        node.id = id;
        return machine.add(std::move(node));
    }
    int other(NodeKind kind, std::int64_t id) {
        TopoNode node;
        node.kind = kind;
        node.id = id;
        return machine.add(std::move(node));
    }
    [[nodiscard]] PathTable paths(bool relay = true) const {
        return {machine, std::vector<bool>(machine.nodes.size(), relay)};
    }
};

TEST(Paths, PcieSwitchesAndCpusGiveTheirTypes) {
    Built b;
    const int cpu0 = b.machine.cpu(0), cpu1 = b.machine.cpu(1);
    const int top = b.other(NodeKind::pci_switch, 0x100), low = b.other(NodeKind::pci_switch, 0x200);
    const int d0 = b.device(1), d1 = b.device(2), d2 = b.device(3), d3 = b.device(4), d4 = b.device(5);
    const int nic = b.other(NodeKind::nic, 0x300);
    b.machine.connect_pci(top, cpu0, 16);
    b.machine.connect_pci(low, top, 8);
    b.machine.connect_pci(d0, low, 8);
    b.machine.connect_pci(d1, low, 4);
    b.machine.connect_pci(d2, top, 16);
    b.machine.connect_pci(d3, cpu0, 16);
    b.machine.connect_pci(d4, cpu1, 16);
    b.machine.connect_pci(nic, top, 2);
    b.machine.connect_cpus();
    const PathTable paths = b.paths();
    EXPECT_EQ(paths.between(d0, d0).type, PathType::loc);
    EXPECT_EQ(paths.between(d0, d1).type, PathType::pix);
    EXPECT_EQ(paths.between(d0, d1).gigabytes, 4);
    EXPECT_EQ(paths.between(d0, d1).hops, 2);
    EXPECT_EQ(paths.between(d0, d2).type, PathType::pxb);
    EXPECT_EQ(paths.between(d0, d2).hops, 3);
    EXPECT_EQ(paths.between(d0, d3).type, PathType::phb);
    EXPECT_EQ(paths.between(d0, d4).type, PathType::sys);
    EXPECT_EQ(paths.between(d0, nic).type, PathType::pxb);
    EXPECT_EQ(paths.between(d2, nic).type, PathType::pix);
    EXPECT_EQ(b.machine.numa_of(d0), 0);
    EXPECT_EQ(b.machine.numa_of(d4), 1);
}

TEST(Paths, OneDeviceInTheMiddleAndNoMore) {  // NVB
    Built b;
    for (int i = 0; i < 4; ++i) b.device(i + 1);
    for (int i = 0; i < 3; ++i) b.machine.connect(i, i + 1, PathType::nvl, 10 + i);
    const PathTable paths = b.paths();
    EXPECT_EQ(paths.between(0, 1).type, PathType::nvl);
    EXPECT_EQ(paths.between(0, 2).type, PathType::nvb);
    EXPECT_EQ(paths.between(0, 2).through, 1);
    EXPECT_EQ(paths.between(0, 2).gigabytes, 10);
    EXPECT_EQ(paths.between(0, 3).type, PathType::dis) << "two devices would be in the middle";
    EXPECT_EQ(b.paths(false).between(0, 2).type, PathType::dis);
}

TEST(Paths, TheMiddleIsTheWiderThenTheLowerOne) {
    for (const double second : {10.0, 30.0}) {
        Built b;
        for (int i = 0; i < 4; ++i) b.device(i + 1);
        for (const int end : {0, 3}) {
            b.machine.connect(end, 1, PathType::nvl, 10);
            b.machine.connect(end, 2, PathType::nvl, second);
        }
        const PathTable paths = b.paths();
        EXPECT_EQ(paths.between(0, 3).through, second > 10 ? 2 : 1);
        EXPECT_EQ(paths.between(3, 0).through, paths.between(0, 3).through);
    }
}

TEST(Paths, FastSwitchesAreNoDevices) {
    Built b;
    const int joint = b.other(NodeKind::fast_switch, 0);
    const int d0 = b.device(1), d1 = b.device(2);
    b.machine.connect(d0, joint, PathType::nvl, 100);
    b.machine.connect(d1, joint, PathType::nvl, 80);
    const PathTable paths = b.paths(false);
    EXPECT_EQ(paths.between(d0, d1).type, PathType::nvl);
    EXPECT_EQ(paths.between(d0, d1).gigabytes, 80);
    EXPECT_EQ(paths.between(d0, d1).through, -1);
}

TEST(Paths, NearerTypeWinsOverWidthAndWidthOverHops) {
    Built b;
    const int cpu = b.machine.cpu(0), up = b.other(NodeKind::pci_switch, 0x100);
    const int d0 = b.device(1), d1 = b.device(2);
    b.machine.connect_pci(d0, cpu, 64);
    b.machine.connect_pci(d1, cpu, 64);
    b.machine.connect_pci(d0, up, 1);
    b.machine.connect_pci(d1, up, 1);
    EXPECT_EQ(b.paths().between(d0, d1).type, PathType::pix) << "narrow, but near";
    const int low = b.other(NodeKind::pci_switch, 0x200);
    b.machine.connect(d0, low, PathType::pix, 8);
    b.machine.connect(low, up, PathType::pix, 8);
    b.machine.connect(up, d1, PathType::pix, 8);
    const PathTable paths = b.paths();
    EXPECT_EQ(paths.between(d0, d1).gigabytes, 8) << "one link more, but wider";
    EXPECT_EQ(paths.between(d0, d1).hops, 3);
    EXPECT_EQ(paths.between(d1, d0).hops, 3);
}

TEST(Topology, BusIdsAreTheDigitsOfTheAddress) {  // p2p contract 3.6
    EXPECT_EQ(parse_bus_text("0000:17:00.0"), 0x17000);
    EXPECT_EQ(parse_bus_text("0001:02:03.4"), 0x102034);
    EXPECT_EQ(parse_bus_text("ffff:05:00.0"), made_up_bus_id(5));
    EXPECT_EQ(bus_text(0x102034), "0001:02:03.4");
    EXPECT_EQ(bus_text(made_up_bus_id(255)), "ffff:ff:00.0");
    for (const char* bad : {"", "17:0", "0000:17:00", "0000:17:00.8", "x"})
        EXPECT_FALSE(parse_bus_text(bad)) << bad;
}

TEST(Topology, RecordsOfRanksGiveNumaDistances) {  // p2p contract 3.6
    std::vector<ncclPeerInfo> ranks(4);
    for (int i = 0; i < 4; ++i) {
        ranks[static_cast<std::size_t>(i)].busId = made_up_bus_id(i == 3 ? 0 : i);
        ranks[static_cast<std::size_t>(i)].numaNode = i == 2 ? 1 : 0;
        ranks[static_cast<std::size_t>(i)].mlaIndex = -1;
    }
    const TopoModel machine = model_of_records(ranks);
    EXPECT_EQ(machine.devices().size(), 3U) << "rank 3 shares the device of rank 0";
    const PathTable paths(machine, std::vector<bool>(machine.nodes.size()));
    const auto node = [&](int device) { return *machine.find(NodeKind::device, made_up_bus_id(device)); };
    EXPECT_EQ(paths.between(node(0), node(1)).type, PathType::phb);
    EXPECT_EQ(paths.between(node(0), node(2)).type, PathType::sys);
}

}  // namespace
}  // namespace duofi::p2p::test
