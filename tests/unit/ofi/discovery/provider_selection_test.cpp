// Which provider is taken: architecture 4.1, net contract 4.4(3), 4.5; user-reports A8, A21.
#include <gtest/gtest.h>

#include "common/ofi/selection.hpp"
#include "tests/unit/ofi/discovery/candidates.hpp"

namespace duofi::test {
namespace {

std::string chosen_provider(const std::vector<ofi::Candidate>& entries,
                            const ofi::SelectionRules& rules) {
    const auto selection = ofi::select(entries, rules);
    return selection.chosen.empty() ? "none" : entries[selection.chosen.front()].provider;
}

std::vector<ofi::Candidate> offer_of_1_17() {
    std::vector<ofi::Candidate> entries;
    for (const char* provider : {"tcp;ofi_rxm", "net;ofi_rxm", "net", "udp;ofi_rxd", "sockets"})
        entries.push_back(ipv4("eth0", "10.0.0.1", provider));
    entries.push_back(nic("shm", "shm", ""));
    return entries;
}

TEST(ProviderSelection, NativeTcpOf117AndOfLaterReleases) {
    EXPECT_EQ(chosen_provider(offer_of_1_17(), rules_of_1_17()), "net");
    auto rules = rules_of_1_17();
    rules.libfabric_version = FI_VERSION(2, 1);
    EXPECT_EQ(
        chosen_provider({ipv4("eth0", "10.0.0.1", "tcp;ofi_rxm"), ipv4("eth0", "10.0.0.1", "tcp")},
                        rules),
        "tcp");
}

TEST(ProviderSelection, HardwareBeforeTcpWhateverTheOrder) {
    auto entries = offer_of_1_17();
    entries.push_back(nic("cxi", "cxi0", "0000:03:00.0"));
    EXPECT_EQ(chosen_provider(entries, rules_of_1_17()), "cxi");
}

TEST(ProviderSelection, HardwareThatLacksACapabilityLeavesTheFieldToTcp) {
    auto entries = offer_of_1_17();
    entries.push_back(nic("cxi", "cxi0", "0000:03:00.0"));
    entries.back().unmet = "lacks FI_TAGGED";
    const auto selection = ofi::select(entries, rules_of_1_17());
    EXPECT_EQ(entries[selection.chosen.front()].provider, "net");
    EXPECT_EQ(selection.reasons.back(), "lacks FI_TAGGED");
}

TEST(ProviderSelection, SomeOnlyByName) {
    const std::vector<ofi::Candidate> entries = {ipv4("eth0", "10.0.0.1", "sockets"),
                                                 ipv4("eth0", "10.0.0.1", "udp;ofi_rxd"),
                                                 nic("shm", "shm", "")};
    EXPECT_EQ(chosen_provider(entries, rules_of_1_17()), "none");
    for (const auto& [name, provider] : {std::pair("shm", "shm"), std::pair("sockets", "sockets"),
                                         std::pair("udp", "none")}) {  // refused
        auto rules = rules_of_1_17();
        rules.ofi_provider = name;
        EXPECT_EQ(chosen_provider(entries, rules), provider);
        rules = rules_of_1_17();
        rules.fi_provider = name;
        EXPECT_EQ(chosen_provider(entries, rules), provider);
    }
    const auto selection = ofi::select(entries, rules_of_1_17());
    ASSERT_EQ(selection.reasons.size(), entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const char* expected = entries[i].provider == "udp;ofi_rxd" ? "truncation" : "DUOFI_OFI_PROVIDER";
        EXPECT_NE(selection.reasons[i].find(expected), std::string::npos) << selection.reasons[i];
    }
}

TEST(ProviderSelection, AListOfOursIsAppliedHere) {
    auto rules = rules_of_1_17();
    rules.filter_by_name = true;
    rules.ofi_provider = "^net";
    EXPECT_EQ(chosen_provider(offer_of_1_17(), rules), "tcp;ofi_rxm");
    rules.ofi_provider = "shm,sockets";
    const auto entries = offer_of_1_17();
    const auto selection = ofi::select(entries, rules);
    EXPECT_EQ(entries[selection.chosen.front()].provider, "shm");
    EXPECT_EQ(selection.reasons[2], "provider is not in DUOFI_OFI_PROVIDER");
}

TEST(ProviderSelection, DevicesOfOneListAgree) {
    std::vector<ofi::Candidate> entries = {nic("efa", "rdmap1-rdm", "0000:01:00.0", "efa"),
                                           nic("efa", "rdmap2-rdm", "0000:02:00.0", "efa"),
                                           nic("efa", "rdmap3-rdm", "0000:03:00.0", "efa-direct"),
                                           nic("efa", "rdmap4-rdm", "0000:04:00.0", "efa")};
    entries[3].protocol = 99;
    const auto selection = ofi::select(entries, rules_of_1_17());
    EXPECT_EQ(chosen_domains(entries, selection), (Names{"rdmap1-rdm", "rdmap2-rdm"}));
    EXPECT_NE(selection.reasons[2].find("fabric differs"), std::string::npos);
    EXPECT_NE(selection.reasons[3].find("protocol"), std::string::npos);
}

TEST(ProviderSelection, VariantsOfOneNicAreOneDevice) {
    const std::vector<ofi::Candidate> entries = {
        nic("cxi", "cxi1", "0000:82:00.0"), nic("cxi", "cxi0", "0000:02:00.0"),
        nic("cxi", "cxi0", "0000:02:00.0"), nic("cxi", "cxi1", "0000:82:00.0")};
    const auto selection = ofi::select(entries, rules_of_1_17());
    EXPECT_EQ(selection.chosen, (std::vector<std::size_t>{1, 0}));
}

TEST(ProviderSelection, InterfaceRulesDoNotTouchOtherAddressFormats) {
    auto rules = rules_of_1_17();
    rules.interfaces = ofi::InterfaceFilter(std::string("mlx,cxi"), "=eth0");
    EXPECT_EQ(select_domains({nic("cxi", "cxi0", "0000:02:00.0")}, rules), Names{"cxi0"});
    ofi::Candidate verbs = ipv4("mlx5_0", "10.0.0.1", "verbs;ofi_rxm");
    verbs.interface.clear();
    EXPECT_EQ(select_domains({verbs}, rules), Names{"mlx5_0"});
}

}  // namespace
}  // namespace duofi::test
