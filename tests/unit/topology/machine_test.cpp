#include "common/topology/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/topology/sysfs_tree.hpp"
#include "tests/unit/topology/two_nodes.hpp"

namespace duofi::topology {
namespace {

TEST(Machine, FindsTheNumaNodeOfACard) {
    const test::SysfsTree tree;
    const std::string path = (tree.root() / "two-nodes.xml").string();
    std::ofstream(path) << test::two_node_topology("0000:03:00.0", "0000:83:00.0");
    const auto machine = Machine::from_xml(path);
    ASSERT_TRUE(machine);
    EXPECT_EQ(machine->numa_node_count(), 2);
    EXPECT_EQ(machine->numa_node(PciAddress{0, 3, 0, 0}), 0);
    EXPECT_EQ(machine->numa_node(PciAddress{0, 0x83, 0, 0}), 1);
    EXPECT_EQ(machine->numa_node(PciAddress{0, 0x84, 0, 0}), std::nullopt);
}

TEST(Machine, SyntheticTopologiesHaveNoPciDevices) {
    const auto machine = Machine::from_synthetic("numa:2 core:4 pu:1");
    ASSERT_TRUE(machine);
    EXPECT_EQ(machine->numa_node_count(), 2);
    EXPECT_EQ(machine->numa_node(PciAddress{0, 3, 0, 0}), std::nullopt);
}

TEST(Machine, BadDescriptionsAreErrors) {
    const auto missing = Machine::from_xml("/nonexistent.xml");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Errc::invalid_argument);
    const auto nonsense = Machine::from_synthetic("no such level:4");
    ASSERT_FALSE(nonsense);
    EXPECT_EQ(nonsense.error().code, Errc::invalid_argument);
}

TEST(Machine, ThisMachineIsReadOnce) {
    const Machine* const machine = Machine::of_this_process();
    ASSERT_NE(machine, nullptr);
    EXPECT_GE(machine->numa_node_count(), 1);
    EXPECT_EQ(Machine::of_this_process(), machine);
}

TEST(Machine, PciDevicesOfThisMachineAreFoundWithoutTheBlockedComponents) {
    const std::filesystem::path devices = "/sys/bus/pci/devices";
    if (!std::filesystem::exists(devices)) GTEST_SKIP() << "no PCI bus here";
    const Machine* const machine = Machine::of_this_process();
    ASSERT_NE(machine, nullptr);
    if (machine->numa_node_count() != 1) GTEST_SKIP() << "which node is right is not known here";
    int networks = 0, found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(devices)) {
        const auto kind = Sysfs().first_line((entry.path() / "class").string());
        if (!kind || kind->rfind("0x02", 0) != 0) continue;
        const auto address = PciAddress::parse(entry.path().filename().string());
        ASSERT_TRUE(address);
        ++networks;
        if (machine->numa_node(*address) == 0) ++found;
    }
    EXPECT_EQ(found, networks);
}

}  // namespace
}  // namespace duofi::topology
