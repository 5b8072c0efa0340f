// Which interfaces become devices: user-reports A6, A7, A8, A9; net contract 4.4.
#include "common/ofi/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ofi/discovery/candidates.hpp"

namespace duofi::test {
namespace {

using ofi::select;

TEST(Selection, A6LoopbackOnlyWhenAlone) {
    const std::vector<ofi::Candidate> alone = {ipv4("lo", "127.0.0.1"), ipv6("lo", "::1")};
    const auto selection = select(alone, rules_of_1_17());
    EXPECT_EQ(chosen_domains(alone, selection), Names{"lo"});
    EXPECT_EQ(selection.chosen.front(), 0U) << "the IPv4 entry";
    EXPECT_TRUE(selection.loopback_only);

    const std::vector<ofi::Candidate> both = {ipv4("lo", "127.0.0.1"), ipv4("net0", "10.0.0.1")};
    const auto with_nic = select(both, rules_of_1_17());
    EXPECT_EQ(chosen_domains(both, with_nic), Names{"net0"});
    EXPECT_FALSE(with_nic.loopback_only);
    EXPECT_NE(with_nic.reasons[0].find("loopback"), std::string::npos);
    EXPECT_EQ(with_nic.reasons[1], "");
}

TEST(Selection, A6AListWithoutLoopbackDoesNotBringItIn) {
    auto rules = rules_of_1_17();
    rules.interfaces = ofi::InterfaceFilter{std::string("docker0")};
    EXPECT_EQ(select_domains({ipv4("lo", "127.0.0.1"), ipv4("eth0", "10.0.0.1")}, rules),
              Names{"eth0"});
    EXPECT_EQ(select_domains({ipv4("lo", "127.0.0.1"), ipv4("docker0", "10.0.0.1")}, rules),
              Names{"lo"});
    rules.interfaces = ofi::InterfaceFilter{std::string("lo,docker0")};
    EXPECT_EQ(select_domains({ipv4("lo", "127.0.0.1"), ipv4("docker0", "10.0.0.1")}, rules),
              Names{});
}

TEST(Selection, A6LoopbackByNameAndAlone) {
    auto rules = rules_of_1_17();
    rules.interfaces = ofi::InterfaceFilter(std::nullopt, "=lo");
    EXPECT_EQ(select_domains({ipv4("eth0", "10.0.0.1"), ipv4("lo", "127.0.0.1")}, rules),
              Names{"lo"});
}

TEST(Selection, A7VirtualInterfacesAreLeftOut) {
    const std::vector<ofi::Candidate> entries = {
        ipv4("docker0", "172.17.0.1"), ipv4("br-1", "172.18.0.1"), ipv4("virbr0", "192.168.122.1"),
        ipv4("veth1234", "10.9.0.1"),  ipv4("lo", "127.0.0.1"),    ipv4("net0", "10.0.0.1")};
    EXPECT_EQ(select_domains(entries), Names{"net0"});

    auto rules = rules_of_1_17();
    rules.interfaces = ofi::InterfaceFilter{std::string("^docker0")};
    EXPECT_EQ(select_domains(entries, rules), (Names{"br-1", "net0", "veth1234", "virbr0"}));
}

TEST(Selection, A7DefaultListGivesWayToLoopbackAndThenToTheInterfacesItself) {
    EXPECT_EQ(select_domains({ipv4("docker0", "172.17.0.1"), ipv4("lo", "127.0.0.1")}),
              Names{"lo"});
    const std::vector<ofi::Candidate> only = {ipv4("docker0", "172.17.0.1")};
    const auto selection = select(only, rules_of_1_17());
    EXPECT_EQ(chosen_domains(only, selection), Names{"docker0"});
    EXPECT_TRUE(selection.default_list_overruled);
}

TEST(Selection, A7LinkLocalAddressesDoNotCount) {
    const std::vector<ofi::Candidate> entries = {
        ipv6("tap0", "fe80::1"), ipv4("eth1", "169.254.3.4"), ipv4("eth0", "10.0.0.1")};
    auto rules = rules_of_1_17();
    rules.use_ipv6 = true;
    EXPECT_EQ(select_domains(entries, rules), Names{"eth0"});
    rules.interfaces = ofi::InterfaceFilter(std::nullopt, "=eth1");
    EXPECT_EQ(select_domains(entries, rules), Names{"eth1"}) << "named, so the user means it";
}

TEST(Selection, A8OneDevicePerNic) {
    const std::vector<ofi::Candidate> entries = {ipv6("eth0", "fe80::2"),
                                                 ipv6("eth0", "fd00::2"),
                                                 ipv4("eth0", "192.0.2.2"),
                                                 ipv4("eth0", "192.0.2.3"),
                                                 ipv4("eth0", "192.0.2.2", "tcp;ofi_rxm"),
                                                 ipv4("eth0", "192.0.2.2", "net;ofi_rxm"),
                                                 ipv4("eth0", "192.0.2.2")};
    auto rules = rules_of_1_17();
    rules.use_ipv6 = true;
    const auto selection = select(entries, rules);
    EXPECT_EQ(selection.chosen, std::vector<std::size_t>{2});
    EXPECT_EQ(selection.reasons[0], "the address is only link-local");
    EXPECT_EQ(selection.reasons[1], "same NIC as address 192.0.2.2");
    EXPECT_EQ(selection.reasons[3], "same NIC as address 192.0.2.2");
    EXPECT_EQ(selection.reasons[4], "provider net is preferred");
    EXPECT_EQ(selection.reasons[6], "offered more than once");
}

TEST(Selection, A8TheFirstAddressOfAnInterfaceStays) {
    std::vector<ofi::Candidate> entries = {ipv4("eth0", "10.0.0.9"), ipv4("eth0", "10.0.0.1")};
    entries[1].primary = true;
    EXPECT_EQ(select(entries, rules_of_1_17()).chosen, std::vector<std::size_t>{1});
}

TEST(Selection, A8DifferentSubnetsAreDifferentFabricNamesAndStillOneList) {
    EXPECT_EQ(select_domains({ipv4("eth1", "10.1.0.1"), ipv4("eth0", "10.0.0.1")}),
              (Names{"eth0", "eth1"}));
}

TEST(Selection, Ipv6NeedsTheSettingAndThenFillsIn) {
    const std::vector<ofi::Candidate> entries = {ipv6("eth1", "fd00::1"), ipv4("eth0", "10.0.0.1")};
    EXPECT_EQ(select_domains(entries), Names{"eth0"});
    auto rules = rules_of_1_17();
    rules.use_ipv6 = true;
    EXPECT_EQ(select_domains(entries, rules), (Names{"eth0", "eth1"}));
}

TEST(Selection, A3AWildcardEntryIsNoDevice) {
    ofi::Candidate wildcard = ipv4("tcp", "");
    wildcard.interface.clear();
    wildcard.address_class = ofi::AddressClass::missing;
    const auto selection = select(std::vector{wildcard}, rules_of_1_17());
    EXPECT_TRUE(selection.chosen.empty());
    EXPECT_NE(selection.reasons[0].find("FI_TCP_IFACE"), std::string::npos);
}

TEST(Selection, A9OrderIsPciAddressThenNameWhateverTheOffer) {
    std::vector<ofi::Candidate> entries = {ipv4("eth3", "10.3.0.1"), ipv4("eth2", "10.2.0.1"),
                                           ipv4("eth1", "10.1.0.1"), ipv4("eth0", "10.0.0.1")};
    entries[0].pci = topology::PciAddress::parse("0000:00:03.0");
    entries[1].pci = topology::PciAddress::parse("0001:00:01.0");
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.domain < b.domain; });
    do {
        ASSERT_EQ(select_domains(entries), (Names{"eth3", "eth2", "eth0", "eth1"}));
    } while (
        std::next_permutation(entries.begin(), entries.end(),
                              [](const auto& a, const auto& b) { return a.domain < b.domain; }));
}

TEST(Selection, NothingOfferedIsNothingChosen) {
    const auto selection = select({}, rules_of_1_17());
    EXPECT_TRUE(selection.chosen.empty());
    EXPECT_TRUE(selection.reasons.empty());
}

TEST(DeviceName, IsPrefixedAndUnique) {
    EXPECT_EQ(ofi::device_name("eth0", 0, {}), "duofi_eth0");
    EXPECT_EQ(ofi::device_name("eth0", 2, {}), "duofi_eth0_2");
    const Names taken = {"duofi_eth0", "duofi_eth0_1"};
    EXPECT_EQ(ofi::device_name("eth0", 0, taken), "duofi_eth0_2");
    EXPECT_EQ(ofi::device_name("eth0_1", 0, taken), "duofi_eth0_1_1");
}

}  // namespace
}  // namespace duofi::test
