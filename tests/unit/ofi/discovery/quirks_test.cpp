// Net contract 4.5, 5.2; architecture 4.1, 4.4.
#include "common/ofi/quirks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include <string>

namespace duofi::ofi {
namespace {

constexpr std::uint32_t k1_17 = 0x10011;
constexpr std::uint32_t k1_18 = 0x10012;
constexpr std::uint32_t k2_1 = 0x20001;

TEST(Quirks, VariablesAreOfProvidersThatTheUserNames) {
    const auto names = [](const char* list, std::uint32_t version) {
        std::string text;
        for (const EnvironmentDefault& variable : variables_for(list, version)) text += variable.name;
        return text;
    };
    const std::uint32_t old = 1u << 16 | 17;
    EXPECT_EQ(names("tcp;ofi_rxm", old), "FI_OFI_RXM_USE_RNDV_WRITE");
    EXPECT_EQ(names("shm,tcp", old), "FI_OFI_RXM_USE_RNDV_WRITE");
    EXPECT_EQ(names("tcp;ofi_rxm", old + 1), "") << "repaired";
    EXPECT_EQ(names("^net", old), "FI_OFI_RXM_USE_RNDV_WRITE") << "then that is what is left";
    for (const char* list : {"", "net", "verbs;ofi_rxm", "^tcp"}) EXPECT_EQ(names(list, old), "") << list;
}

TEST(Quirks, BothSidesNeedTheSameVariable) {
    const std::uint32_t old = 1u << 16 | 17;
    EXPECT_EQ(wire_name("net", old), "net");
    EXPECT_EQ(wire_name("tcp;ofi_rxm", old), "tcp;ofi_rxm FI_OFI_RXM_USE_RNDV_WRITE=1");
    ::setenv("FI_OFI_RXM_USE_RNDV_WRITE", "0", 1);
    EXPECT_EQ(wire_name("tcp;ofi_rxm", old), "tcp;ofi_rxm FI_OFI_RXM_USE_RNDV_WRITE=0");
    ::unsetenv("FI_OFI_RXM_USE_RNDV_WRITE");
    EXPECT_EQ(wire_name("tcp;ofi_rxm", old + 1), "tcp;ofi_rxm");
}

TEST(Quirks, ReadsThatAreCutAreBorneFromOneReleaseOn) {
    const std::uint32_t old = 1u << 16 | 17;
    for (const char* provider : {"net", "tcp;ofi_rxm"}) EXPECT_FALSE(quirk_for(provider, old).bears_cut_reads) << provider;
    for (const char* provider : {"tcp", "tcp;ofi_rxm"}) EXPECT_TRUE(quirk_for(provider, old + 1).bears_cut_reads) << provider;
    EXPECT_TRUE(quirk_for("shm", old).bears_cut_reads);
}

TEST(Quirks, KeysOfTcpAreBareUpToARelease) {
    const std::uint32_t old = 1u << 16 | 17;
    EXPECT_EQ(quirk_for("net", old).key_lookups, KeyLookups::bare);
    for (const char* provider : {"tcp", "tcp;ofi_rxm"}) {
        EXPECT_EQ(quirk_for(provider, old + 1).key_lookups, KeyLookups::bare_in_posts_too) << provider;
        EXPECT_EQ(quirk_for(provider, old + 2).key_lookups, KeyLookups::guarded) << provider;
    }
    EXPECT_EQ(quirk_for("net;ofi_rxm", old).key_lookups, KeyLookups::bare_in_posts_too);
    for (const char* provider : {"tcp;ofi_rxm", "shm", "efa", "no such one"})
        EXPECT_EQ(quirk_for(provider, old).key_lookups, KeyLookups::guarded) << provider;
}

TEST(Quirks, EfaIsGatedOnThePackedVersionStrictly) {
    EXPECT_FALSE(efa_version_ok("efa", 0x10015));
    EXPECT_TRUE(efa_version_ok("efa", 0x10016));
    EXPECT_FALSE(efa_version_ok("efa", k1_17));
    EXPECT_TRUE(efa_version_ok("efa", k2_1));
    EXPECT_TRUE(efa_version_ok("tcp", k1_17));
    EXPECT_TRUE(efa_version_ok("efa-direct", k1_17)) << "the name must be exactly efa";
}

TEST(Quirks, HardwareThenNativeTcpThenLayers) {
    for (const char* nic : {"efa", "cxi", "verbs;ofi_rxm", "psm3", "opx"}) {
        EXPECT_LT(preference_order(nic, k1_17), preference_order("net", k1_17)) << nic;
        EXPECT_LT(preference_order(nic, k2_1), preference_order("tcp", k2_1)) << nic;
    }
    EXPECT_LT(preference_order("net", k1_17), preference_order("tcp;ofi_rxm", k1_17));
    EXPECT_LT(preference_order("tcp", k1_18), preference_order("tcp;ofi_rxm", k1_18));
    EXPECT_LT(preference_order("tcp;ofi_rxm", k1_17), preference_order("net;ofi_rxm", k1_17));
    EXPECT_LT(preference_order("newcomer", k2_1), preference_order("tcp", k2_1));
    EXPECT_LT(preference_order("efa", k2_1), preference_order("newcomer", k2_1));
}

TEST(Quirks, RowsApplyToTheirVersionsOnly) {
    EXPECT_EQ(quirk_for("tcp", k1_17).preference, Preference::unknown);
    EXPECT_EQ(quirk_for("tcp", k1_18).preference, Preference::native_tcp);
    EXPECT_EQ(quirk_for("net", k1_17).preference, Preference::native_tcp);
    EXPECT_EQ(quirk_for("net", k1_18).preference, Preference::unknown);
    EXPECT_EQ(quirk_for("no such provider", k1_17).preference, Preference::unknown);
}

TEST(Quirks, ByNameOnlyAndCosts) {
    for (const char* name : {"shm", "sockets", "udp", "udp;ofi_rxd"})
        EXPECT_EQ(quirk_for(name, k1_17).preference, Preference::by_name) << name;
    EXPECT_EQ(quirk_for("tcp;ofi_rxm", k1_17).endpoint_cost, EndpointCost::expensive);
    EXPECT_EQ(quirk_for("net", k1_17).endpoint_cost, EndpointCost::cheap);
    EXPECT_TRUE(quirk_for("shm", k1_17).same_node_only);
    EXPECT_FALSE(quirk_for("shm", k1_17).tells_refusals);
    EXPECT_TRUE(quirk_for("net", k1_17).tells_refusals);
    EXPECT_FALSE(quirk_for("net", k1_17).same_node_only);
}

TEST(Quirks, EveryRowHasEvidenceAndCanBeReached) {
    for (const Quirk& row : quirk_table()) {
        EXPECT_STRNE(row.evidence, "") << row.name;
        EXPECT_LT(row.from, row.below) << row.name;
        EXPECT_EQ(&quirk_for(row.name, row.from), &row)
            << row.name << " is hidden by an earlier row";
    }
}

TEST(Quirks, ThePersonalitiesOfTheSimulatedFabricShareRows) {
    for (const char* name : {"efa", "cxi"})
        EXPECT_EQ(&quirk_for(std::string("duofisim;") + name, k1_17), &quirk_for(name, k1_17)) << name;
    EXPECT_EQ(&quirk_for("duofisim;verbs", k1_17), &quirk_for("verbs;ofi_rxm", k1_17));
    EXPECT_EQ(quirk_for("duofisim", k1_17).preference, Preference::by_name);
    EXPECT_TRUE(efa_version_ok("duofisim;efa", k1_17)) << "the gate looks at the exact name";
}

TEST(Quirks, ListsNameProviders) {
    EXPECT_TRUE(names_provider("tcp", "tcp;ofi_rxm"));
    EXPECT_TRUE(names_provider("TCP", "tcp"));
    EXPECT_TRUE(names_provider("efa, shm", "shm"));
    EXPECT_FALSE(names_provider("tcp;ofi_rxm", "tcp"));
    EXPECT_FALSE(names_provider("tc", "tcp"));
    EXPECT_FALSE(names_provider("tcp", "tcpx"));
    EXPECT_FALSE(names_provider("^shm", "shm"));
    EXPECT_FALSE(names_provider("", "shm"));
    EXPECT_FALSE(names_provider(",,", "shm"));

    EXPECT_TRUE(admits_provider("", "net"));
    EXPECT_TRUE(admits_provider("^shm", "net"));
    EXPECT_FALSE(admits_provider("^shm,net", "net"));
    EXPECT_TRUE(admits_provider("net,tcp", "tcp;ofi_rxm"));
    EXPECT_FALSE(admits_provider("net,tcp", "sockets"));
}

}  // namespace
}  // namespace duofi::ofi
