#include "common/topology/pci_address.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace duofi::topology {
namespace {

TEST(PciAddress, ParsesWhatSysfsAndUsersWrite) {
    EXPECT_EQ(PciAddress::parse("0000:00:03.0"), (PciAddress{0, 0, 3, 0}));
    EXPECT_EQ(PciAddress::parse("ABCD:ef:1f.7"), (PciAddress{0xabcd, 0xef, 0x1f, 7}));
    EXPECT_EQ(PciAddress::parse("10000:81:00.1"), (PciAddress{0x10000, 0x81, 0, 1}));
    EXPECT_EQ(PciAddress::parse("81:00.1"), (PciAddress{0, 0x81, 0, 1}));
}

TEST(PciAddress, RefusesEverythingElse) {
    const std::vector<std::string> bad = {
        "",
        "0000",
        "0000:00:03",
        "0000:00:03.",
        "0000:00:03.8",
        "0000:00:20.0",
        "000:00:03.0",
        "0000:0:03.0",
        "0000:00:03.0x",
        " 0000:00:03.0",
        "0000:00:03.0 ",
        "0000-00-03.0",
        "123456789:00:03.0",
        "0000:-1:03.0",
        "virtio2",
        "::.",
        "0000:00:03:0",
    };
    for (const auto& text : bad) EXPECT_FALSE(PciAddress::parse(text)) << "'" << text << "'";
}

TEST(PciAddress, PrintsInLowerCaseAndReadsItsOwnText) {
    EXPECT_EQ((PciAddress{0xABC, 0xD, 0x1e, 5}.text()), "0abc:0d:1e.5");
    const PciAddress wide{0x10000, 1, 2, 3};
    EXPECT_EQ(PciAddress::parse(wide.text()), wide);
}

TEST(PciAddress, ComparesByDomainBusDeviceFunction) {
    const std::vector<PciAddress> ordered = {
        {0, 0, 3, 0}, {0, 0, 3, 1}, {0, 0, 4, 0}, {0, 0x10, 0, 0}, {1, 0, 0, 0}};
    for (std::size_t i = 1; i < ordered.size(); ++i) EXPECT_LT(ordered[i - 1], ordered[i]) << i;
}

TEST(PciAddress, PacksAsTheGuidWantsIt) {
    EXPECT_EQ((PciAddress{1, 2, 3, 4}.packed()), 0x01020304U);
    EXPECT_EQ((PciAddress{0x10000, 0, 0, 0}.packed()), 0x10000000000U);
}

}  // namespace
}  // namespace duofi::topology
