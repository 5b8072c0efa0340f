// PCI bridges and devices from sysfs and from hwloc (p2p contract 3.6).
// Units: common/topology/io_tree, common/topology/machine.
#include "common/topology/io_tree.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "common/topology/machine.hpp"
#include "tests/unit/topology/sysfs_tree.hpp"
#include "tests/unit/topology/two_nodes.hpp"

namespace duofi::topology {
namespace {

constexpr char kPort[] = "/sys/devices/pci0000:00/0000:00:01.0";
constexpr char kCard[] = "/sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0";

void describe(const test::SysfsTree& tree, const std::string& folder, const char* kind, const char* node) {
    tree.add_pci_device(folder);
    tree.add_file(folder + "/class", kind);
    tree.add_file(folder + "/vendor", "0x10de\n");
    tree.add_file(folder + "/device", "0x20b0\n");
    tree.add_file(folder + "/numa_node", node);
    tree.add_file(folder + "/current_link_speed", "16.0 GT/s PCIe\n");
    tree.add_file(folder + "/current_link_width", "8\n");
}

TEST(IoTree, SysfsTellsBridgesDevicesAndNodes) {
    const test::SysfsTree tree;
    describe(tree, kPort, "0x060400\n", "1\n");
    describe(tree, kCard, "0x030200\n", "1\n");
    tree.add_file("/sys/devices/system/node/node0/cpulist", "0-3\n");
    tree.add_file("/sys/devices/system/node/node1/cpulist", "4-7\n");
    tree.add_file("/sys/devices/system/node/node10/cpulist", "8-11\n");
    tree.add_file("/sys/devices/system/node/has_cpu", "0-1\n");
    const IoTree found = read_io_tree(tree.sysfs());
    ASSERT_EQ(found.numa.size(), 3U);
    EXPECT_EQ(found.numa[1].number, 1);
    EXPECT_EQ(found.numa[1].cpus, "4-7");
    EXPECT_EQ(found.numa[2].number, 10);
    ASSERT_EQ(found.objects.size(), 3U);
    EXPECT_EQ(found.objects[0].kind, IoObject::Kind::host_bridge);
    EXPECT_EQ(found.objects[0].numa_nodes, (std::vector<int>{1})) << "kept where all of them hang";
    EXPECT_EQ(found.objects[1].kind, IoObject::Kind::bridge);
    EXPECT_EQ(found.objects[1].parent, 0);
    const IoObject& card = found.objects[2];
    EXPECT_EQ(card.kind, IoObject::Kind::device);
    EXPECT_EQ(card.parent, 1);
    EXPECT_EQ(card.address.text(), "0000:03:00.0");
    EXPECT_EQ(card.pci_class, 0x0302);
    EXPECT_EQ(card.vendor, 0x10de);
    EXPECT_EQ(card.device, 0x20b0);
    EXPECT_EQ(card.gigabytes, 16);
}

TEST(IoTree, WhatIsMissingIsLeftOut) {
    const test::SysfsTree empty;
    const IoTree nothing = read_io_tree(empty.sysfs());
    EXPECT_TRUE(nothing.objects.empty() && nothing.numa.empty());
    const test::SysfsTree bare;
    bare.add_pci_device(kCard);
    const IoTree found = read_io_tree(bare.sysfs());
    ASSERT_EQ(found.objects.size(), 3U) << "the port above is known from the path";
    EXPECT_TRUE(found.objects[0].numa_nodes.empty());
    EXPECT_EQ(found.objects[2].gigabytes, 0);
}

TEST(IoTree, HwlocTellsTheSame) {
    const test::SysfsTree tree;
    const std::string path = (tree.root() / "two-nodes.xml").string();
    std::ofstream(path) << test::two_node_topology("0000:03:00.0", "0000:83:00.0");
    const auto machine = Machine::from_xml(path, IoKeep::all);
    ASSERT_TRUE(machine);
    const IoTree found = machine->io_tree();
    ASSERT_EQ(found.numa.size(), 2U);
    EXPECT_EQ(found.numa[1].cpus, "1");
    EXPECT_EQ(found.places, (std::vector<std::vector<int>>{{0, 1}, {0}, {1}}));
    ASSERT_EQ(found.objects.size(), 4U);
    for (const std::size_t card : {1U, 3U}) {
        EXPECT_EQ(found.objects[card].kind, IoObject::Kind::device);
        EXPECT_EQ(found.objects[card].pci_class, 0x0200);
        EXPECT_EQ(found.objects[card].gigabytes, 15.75F);
        const IoObject& host = found.objects[static_cast<std::size_t>(found.objects[card].parent)];
        EXPECT_EQ(host.kind, IoObject::Kind::host_bridge);
        EXPECT_EQ(host.numa_nodes, (std::vector<int>{card == 1 ? 0 : 1}));
    }
}

}  // namespace
}  // namespace duofi::topology
