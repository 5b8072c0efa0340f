// What the steps make of a machine: C-30 to C-33 with paths, read mode, unknown devices, the wider
// network. Units: p2p/gate/can_connect, p2p/gate/placement.
#include <gtest/gtest.h>

#include "tests/unit/p2p/gate/records.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// Devices in a row, neighbours joined by fast links, each beside one CPU.
TopoModel row_of(int devices, int compute_cap = -1) {
    TopoModel machine;
    for (int i = 0; i < devices; ++i) {
        TopoNode node;
        node.id = (i + 1) << 12;
        node.device.host_device = i;
        node.device.numa_node = 0;
        node.device.compute_cap = compute_cap;
        machine.add(std::move(node));
    }
    const int cpu = machine.cpu(0);
    for (int i = 0; i < devices; ++i) machine.connect_pci(i, cpu, 16);
    for (int i = 0; i + 1 < devices; ++i) machine.connect(i, i + 1, PathType::nvl, 50);
    return machine;
}

TEST(Judge, TheRelayIsTheLowestRankOnTheDeviceInTheMiddle) {
    std::vector<ncclPeerInfo> ranks;
    const TopoModel machine = row_of(3);
    ncclTopoSystem topo = gate_on(machine, ranks);
    EXPECT_EQ(check_p2p(topo, ranks[0], ranks[2]).intermediate, 1);
    ncclPeerInfo second = ranks[1];
    ranks[1].rank = 9;
    second.rank = 4;
    ranks.push_back(second);
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, true);
    EXPECT_EQ(check_p2p(topo, ranks[0], ranks[2]).intermediate, 4);
}

TEST(Judge, DevicesWithoutRanksDoNotRelay) {
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(row_of(3), ranks);
    ranks.erase(ranks.begin() + 1);
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, true);
    const PathAnswer path = check_p2p(topo, ranks[0], ranks[1]);
    EXPECT_EQ(path.type, PathType::phb);
    EXPECT_EQ(path.intermediate, -1);
}

TEST(Judge, RanksOfAnotherHostDoNotRelayEither) {
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(row_of(3), ranks);
    ranks[1].hostHash = 6;
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, true);
    EXPECT_EQ(check_p2p(topo, ranks[0], ranks[2]).type, PathType::phb);
    EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::other_host);
}

TEST(Judge, NvbCanBeSwitchedOff) {
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(row_of(3), ranks);
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, false);
    EXPECT_EQ(check_p2p(topo, ranks[0], ranks[2]).type, PathType::phb);
}

TEST(Judge, ReadNeedsAFastLinkAndTwoOfCapability80) {  // p2p contract 3.3
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(row_of(3, 80), ranks);
    EXPECT_TRUE(check_p2p(topo, ranks[0], ranks[1]).read);
    EXPECT_TRUE(check_p2p(topo, ranks[1], ranks[0]).read);
    EXPECT_FALSE(check_p2p(topo, ranks[0], ranks[2]).read) << "NVB";
    EXPECT_FALSE(check_p2p(topo, ranks[0], ranks[0]).read) << "LOC";
    topo.read_override = 0;
    EXPECT_FALSE(check_p2p(topo, ranks[0], ranks[1]).read);
    topo.read_override = -2;
    ranks[1].computeCap = 90;
    EXPECT_FALSE(check_p2p(topo, ranks[0], ranks[1]).read) << "different ones";
    ranks[0].computeCap = 90;
    EXPECT_FALSE(check_p2p(topo, ranks[0], ranks[1]).read) << "equal, but not 80";
}

TEST(Judge, AnUnknownPeerIsRefusedAndAnUnknownDeviceOfOnesOwnIsAnError) {  // p2p contract 3.3
    duofi::test::LogLines lines;
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(row_of(2), ranks);
    ranks[1].busId = 0x99000;
    EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::path);
    EXPECT_EQ(gate(topo, ranks[1], ranks[0]), GateStep::path);
    int answer = 5;
    EXPECT_EQ(can_connect(&answer, &topo, nullptr, ranks.data(), &ranks[1]), ncclSuccess);
    EXPECT_EQ(answer, 0);
    answer = 5;
    EXPECT_EQ(can_connect(&answer, &topo, nullptr, &ranks[1], ranks.data()), ncclInternalError);
    EXPECT_EQ(answer, 0);
    EXPECT_EQ(lines.with("device 99000 is not in the topology").size(), 1U) << lines.dump();
}

TEST(Judge, MachinesThatAreNotCompleteTakeDevicesFromTheRecords) {
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(row_of(2), ranks);
    ranks[1].busId = made_up_bus_id(1);
    ranks[1].numaNode = 3;
    auto open = std::make_shared<TopoModel>(*topo.machine);
    open->complete = false;
    topo.placement = std::make_shared<const Placement>(open, ranks, true);
    EXPECT_TRUE(topo.placement->knows(ranks[1]));
    EXPECT_EQ(check_p2p(topo, ranks[0], ranks[1]).type, PathType::sys);
}

TEST(Judge, AWiderNetworkWinsOnlyWhenAsked) {  // p2p contract 3.3
    TopoModel machine = row_of(2);
    TopoNode card;
    card.kind = NodeKind::nic;
    card.id = 0x50000;
    TopoNode bridge;
    bridge.kind = NodeKind::pci_switch;
    bridge.id = 0x40000;
    const int joint = machine.add(std::move(bridge)), nic = machine.add(std::move(card));
    machine.connect_pci(nic, joint, 60);
    machine.connect_pci(0, joint, 60);
    machine.connect_pci(1, joint, 60);
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(machine, ranks);
    EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::passed);
    topo.prefer_net = true;
    EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::net_is_wider) << "60 against 50";
    EXPECT_EQ(gate(topo, ranks[0], ranks[0]), GateStep::passed);
}

}  // namespace
}  // namespace duofi::p2p::test
