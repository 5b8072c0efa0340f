// Net contract 6.3 and 6.4 on made-up trees.
#include "common/topology/netdev.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topology/sysfs_tree.hpp"

namespace duofi::topology {
namespace {

constexpr const char* kPci = "/sys/devices/pci0000:00/0000:00:03.0";

/// eth0 on virtio below a PCI device, as on small virtual machines.
void add_virtio_eth0(const test::SysfsTree& tree) {
    const std::string virtio = std::string(kPci) + "/virtio2";
    tree.add_pci_device(kPci);
    tree.add_link(virtio + "/subsystem", "/sys/bus/virtio");
    tree.add_interface(virtio + "/net/eth0", 4);
    tree.add_link(virtio + "/net/eth0/device", virtio);
    tree.add_file(virtio + "/net/eth0/speed", "-1\n");
}

TEST(Netdev, GoesUpFromVirtioToThePciDevice) {
    const test::SysfsTree tree;
    add_virtio_eth0(tree);
    const NetdevFacts facts = netdev_facts(tree.sysfs(), "eth0");
    ASSERT_TRUE(facts.pci);
    EXPECT_EQ(facts.pci->path, kPci);
    EXPECT_EQ(facts.pci->address, (PciAddress{0, 0, 3, 0}));
    EXPECT_FALSE(facts.speed_mbps) << "the kernel says -1";
    EXPECT_FALSE(facts.is_virtual);
}

TEST(Netdev, TakesThePciDeviceItselfAndItsSpeed) {
    const test::SysfsTree tree;
    const std::string device = "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.1";
    tree.add_pci_device("/sys/devices/pci0000:80/0000:80:01.0");
    tree.add_pci_device(device);
    tree.add_interface(device + "/net/ens1f1", 7);
    tree.add_link(device + "/net/ens1f1/device", device);
    tree.add_file(device + "/net/ens1f1/speed", "100000\n");
    tree.add_file(device + "/numa_node", "1\n");
    const NetdevFacts facts = netdev_facts(tree.sysfs(), "ens1f1", 7);
    ASSERT_TRUE(facts.pci);
    EXPECT_EQ(facts.pci->path, device);
    EXPECT_EQ(facts.speed_mbps, 100000);
    EXPECT_EQ(numa_node(tree.sysfs(), *facts.pci), 1);
}

TEST(Netdev, VirtualInterfacesHaveNoPath) {
    const test::SysfsTree tree;
    tree.add_interface("/sys/devices/virtual/net/veth0", 9);
    tree.add_file("/sys/devices/virtual/net/veth0/speed", "10000\n");
    const NetdevFacts facts = netdev_facts(tree.sysfs(), "veth0");
    EXPECT_FALSE(facts.pci);
    EXPECT_TRUE(facts.is_virtual);
    EXPECT_EQ(facts.speed_mbps, 10000);
}

TEST(Netdev, ASysfsOfAnotherNamespaceTellsNothing) {
    const test::SysfsTree tree;
    add_virtio_eth0(tree);
    EXPECT_FALSE(netdev_facts(tree.sysfs(), "eth0", 5).pci);
    EXPECT_TRUE(netdev_facts(tree.sysfs(), "eth0", 4).pci);
}

TEST(Netdev, WithoutSysfsNothingIsKnownAndNothingFails) {
    const NetdevFacts facts = netdev_facts(Sysfs("/nonexistent-root"), "eth0", 4);
    EXPECT_FALSE(facts.pci);
    EXPECT_FALSE(facts.speed_mbps);
    EXPECT_FALSE(facts.is_virtual);
    EXPECT_FALSE(pci_path(Sysfs("/nonexistent-root"), PciAddress{0, 0, 3, 0}));
}

TEST(Netdev, NamesThatArePathsAreRefused) {
    const test::SysfsTree tree;
    add_virtio_eth0(tree);
    for (const char* name : {"", ".", "..", "../net/eth0", "a/b"})
        EXPECT_FALSE(netdev_facts(tree.sysfs(), name).pci) << name;
}

TEST(Netdev, NeverALastComponentThatCallersCannotCopy) {
    const test::SysfsTree tree;
    const std::string odd = "/sys/devices/pci0000:00/a-name-far-longer-than-thirty-one-characters";
    tree.add_pci_device(odd);
    tree.add_interface(odd + "/net/eth0", 4);
    tree.add_link(odd + "/net/eth0/device", odd);
    EXPECT_FALSE(netdev_facts(tree.sysfs(), "eth0").pci);
}

TEST(Netdev, FindsThePathOfAProvidersBusAddress) {
    const test::SysfsTree tree;
    tree.add_pci_device(kPci);
    const auto found = pci_path(tree.sysfs(), PciAddress{0, 0, 3, 0});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->path, kPci);
    EXPECT_FALSE(pci_path(tree.sysfs(), PciAddress{0, 0, 4, 0}));
    EXPECT_FALSE(numa_node(tree.sysfs(), *found)) << "no such file";
    tree.add_file(std::string(kPci) + "/numa_node", "-1\n");
    EXPECT_FALSE(numa_node(tree.sysfs(), *found)) << "-1 means unknown";
}

TEST(Netdev, LoopbackOfThisMachineIsVirtual) {
    if (!Sysfs().exists("/sys/class/net/lo")) GTEST_SKIP() << "no sysfs here";
    const NetdevFacts facts = netdev_facts(Sysfs(), "lo");
    EXPECT_FALSE(facts.pci);
    EXPECT_FALSE(facts.speed_mbps);
    EXPECT_TRUE(facts.is_virtual);
}

}  // namespace
}  // namespace duofi::topology
