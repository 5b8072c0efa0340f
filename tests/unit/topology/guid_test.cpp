#include "common/topology/guid.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/topology/sysfs_tree.hpp"

namespace duofi::topology {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

TEST(Guid, TheHostIsKnownByItsBootId) {
    const test::SysfsTree one, two, same;
    one.add_file(kBootId, "11111111-2222-3333-4444-555555555555\n");
    two.add_file(kBootId, "11111111-2222-3333-4444-555555555556\n");
    same.add_file(kBootId, "11111111-2222-3333-4444-555555555555\n");
    EXPECT_NE(host_id(one.sysfs()), host_id(two.sysfs()));
    EXPECT_EQ(host_id(one.sysfs()), host_id(same.sysfs()));
}

TEST(Guid, WithoutProcThereIsStillAnIdentity) {
    const Sysfs none("/nonexistent-root");
    EXPECT_NE(host_id(none), 0U);
    EXPECT_EQ(host_id(none), host_id(none));
    EXPECT_EQ(interface_guid(1, none, "eth0"), interface_guid(1, none, "eth0"));
}

TEST(Guid, PciDevicesOfOneNodeDiffer) {
    std::set<std::uint64_t> seen;
    for (std::uint8_t bus = 0; bus < 8; ++bus)
        for (std::uint8_t device = 0; device < 32; ++device)
            for (std::uint8_t function = 0; function < 8; ++function)
                seen.insert(pci_guid(42, PciAddress{1, bus, device, function}));
    EXPECT_EQ(seen.size(), 8U * 32 * 8);
    EXPECT_NE(pci_guid(1, PciAddress{0, 0, 3, 0}), pci_guid(2, PciAddress{0, 0, 3, 0}));
}

TEST(Guid, InterfacesDifferByNameHostAndNamespace) {
    const test::SysfsTree one, two;
    std::filesystem::create_directories(one.root() / "proc/self/ns");
    std::filesystem::create_directories(two.root() / "proc/self/ns");
    std::filesystem::create_symlink("net:[4026531840]", one.root() / "proc/self/ns/net");
    std::filesystem::create_symlink("net:[4026532000]", two.root() / "proc/self/ns/net");
    const std::set<std::uint64_t> guids = {
        interface_guid(1, one.sysfs(), "eth0"), interface_guid(1, one.sysfs(), "eth1"),
        interface_guid(2, one.sysfs(), "eth0"), interface_guid(1, two.sysfs(), "eth0")};
    EXPECT_EQ(guids.size(), 4U);
}

}  // namespace
}  // namespace duofi::topology
