// Units: common/topology/platform_table, common/topology/platform.
// The instance table of net contract 4.10 and the decisions of I5.
#include "common/topology/platform.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/util/log_lines.hpp"

namespace duofi::topology {
namespace {

using duofi::test::LogLines;

constexpr const char* kSendrecv = "SENDRECV";
constexpr const char* kRdma = "RDMA";

struct Row {
    const char* product;
    int order;  // row of 4.10, 0 = none
    const char* protocol;
    double latency_us;
    bool gdr_required;
    int dup_conns;
    std::size_t variables;
    bool topology_file;
};

const std::vector<Row> kRows{
    {"p4d.24xlarge", 1, kSendrecv, 75, true, 0, 2, true},
    {"p4de.24xlarge", 2, kSendrecv, 75, true, 0, 2, true},
    {"p3dn.24xlarge", 3, kSendrecv, 150, false, 4, 0, false},
    {"p5.4xlarge", 4, kSendrecv, 75, false, 0, 0, false},
    {"p5.48xlarge", 5, kRdma, 75, true, 0, 5, false},
    {"p5e.48xlarge", 5, kRdma, 75, true, 0, 5, false},
    {"p5en.48xlarge", 6, kRdma, 35, true, 0, 6, false},
    {"p6-b200.48xlarge", 6, kRdma, 35, true, 0, 6, false},
    {"p6-b300.48xlarge", 7, kRdma, 35, true, 0, 5, false},
    {"p6e-gb200.36xlarge", 8, kRdma, 35, true, 0, 5, false},
    {"p10.xlarge", 8, kRdma, 35, true, 0, 5, false},
    {"g5.48xlarge", 9, kSendrecv, 75, false, 0, 0, true},
    {"g7e.8xlarge", 10, kSendrecv, 35, false, 0, 2, false},
    {"g7e.12xlarge", 11, kRdma, 35, true, 0, 2, false},
    {"g7e.48xlarge", 11, kRdma, 35, true, 0, 2, false},
    {"trn1.32xlarge", 12, kRdma, 75, true, 0, 0, false},
    {"trn2.48xlarge", 12, kRdma, 75, true, 0, 0, false},
    {"inf2.48xlarge", 13, kSendrecv, 75, true, 0, 0, false},
};

TEST(PlatformTable, EachTypeMeetsItsRow) {
    ASSERT_EQ(platform_rows().size(), 13U);
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.product);
        const PlatformRow* found = find_platform_row(row.product);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found - platform_rows().data() + 1, row.order);
        EXPECT_STREQ(found->protocol, row.protocol);
        EXPECT_DOUBLE_EQ(found->latency_us, row.latency_us);
        EXPECT_EQ(found->gdr_required, row.gdr_required);
        EXPECT_EQ(found->nic_dup_conns, row.dup_conns);
        EXPECT_EQ(found->environment.size(), row.variables);
        EXPECT_EQ(found->has_topology_file, row.topology_file);
        EXPECT_EQ(found->domain_per_thread, row.order >= 12);
    }
}

TEST(PlatformTable, OtherMachinesMeetNoRow) {
    for (const char* product :
         {"", "p3.2xlarge", "p4d.24xlarge.x", "xp4d.24xlarge", "P5.48xlarge", "g5.12xlarge",
          "g7e.4xlarge", "c5n.18xlarge", "KVM", "Standard PC (Q35 + ICH9, 2009)", "xtrn1"})
        EXPECT_EQ(find_platform_row(product), nullptr) << product;
}

TEST(PlatformTable, VariablesOfSetsAAndB) {
    const auto text = [](const char* product) {
        std::string out;
        for (const EnvironmentRow& row : find_platform_row(product)->environment)
            out += std::string(row.name) + "=" + row.value + " ";
        return out;
    };
    const std::string a = "NCCL_BUFFSIZE=8388608 NCCL_P2P_NET_CHUNKSIZE=524288 ";
    const std::string b =
        "NCCL_NVLSTREE_MAX_CHUNKSIZE=524288 NCCL_NVLS_CHUNKSIZE=524288 NCCL_NET_FORCE_FLUSH=0 ";
    EXPECT_EQ(text("p4d.24xlarge"), a);
    EXPECT_EQ(text("p5.48xlarge"), a + b);
    EXPECT_EQ(text("p6-b200.48xlarge"), a + b + "NCCL_NETDEVS_POLICY=max:1 ");
}

TEST(Platform, UnknownMachineGetsTheDefaults) {
    const Platform got = pick_platform(Settings{}, "KVM");
    EXPECT_FALSE(got.aws);
    EXPECT_EQ(name_of(got), "Default");
    EXPECT_EQ(got.protocol, "");
    EXPECT_DOUBLE_EQ(got.latency_us, 75.0);
    EXPECT_FALSE(got.gdr_required);
    EXPECT_EQ(got.nic_dup_conns, 0);
    EXPECT_FALSE(got.domain_per_thread);
    EXPECT_FALSE(got.filter_efa);
    EXPECT_TRUE(got.environment.empty());
}

TEST(Platform, FilterOnlyOnEc2AndOnlyIfNoProviderIsChosen) {  // S17
    Settings none, by_fi, by_us;
    by_fi.fi_provider = "tcp";
    by_us.ofi_provider = "tcp";
    EXPECT_TRUE(pick_platform(none, "p4d.24xlarge").filter_efa);
    EXPECT_FALSE(pick_platform(by_fi, "p4d.24xlarge").filter_efa);
    EXPECT_FALSE(pick_platform(by_us, "p4d.24xlarge").filter_efa);
    EXPECT_FALSE(pick_platform(none, "KVM").filter_efa);
}

TEST(Platform, UsersOverrideChoiceAndProduct) {  // 4.10
    Settings settings;
    settings.platform = "dEfAuLt";
    EXPECT_FALSE(pick_platform(settings, "p4d.24xlarge").aws);
    EXPECT_FALSE(pick_platform(settings, "p4d.24xlarge").gdr_required);

    settings.platform = "aws";
    const Platform forced = pick_platform(settings, "KVM");
    EXPECT_TRUE(forced.aws);
    EXPECT_TRUE(forced.filter_efa);
    EXPECT_EQ(forced.protocol, "");
    EXPECT_DOUBLE_EQ(forced.latency_us, 75.0);

    settings = {};
    settings.force_product_name = "p3dn.24xlarge";
    const Platform product = pick_platform(settings, "KVM");
    EXPECT_EQ(product.product_name, "p3dn.24xlarge");
    EXPECT_EQ(product.nic_dup_conns, 4);
}

TEST(Platform, SettingsBeatTheRow) {
    Settings settings;
    settings.net_latency_us = 12.5;
    settings.nic_dup_conns = 2;
    settings.domain_per_thread = false;
    const Platform p3dn = pick_platform(settings, "p3dn.24xlarge");
    EXPECT_DOUBLE_EQ(p3dn.latency_us, 12.5);
    EXPECT_EQ(p3dn.nic_dup_conns, 2);
    EXPECT_FALSE(pick_platform(settings, "trn1.32xlarge").domain_per_thread);
    EXPECT_TRUE(pick_platform(Settings{}, "trn1.32xlarge").domain_per_thread);
    settings.domain_per_thread = true;
    EXPECT_TRUE(pick_platform(settings, "KVM").domain_per_thread);
}

TEST(Platform, OneTypeReportsItsSpeedWrongly) {  // 6.4
    EXPECT_EQ(pick_platform(Settings{}, "p5en.48xlarge").speed_override_mbps, 200'000);
    EXPECT_EQ(pick_platform(Settings{}, "p5en.24xlarge").speed_override_mbps, 0);
    EXPECT_EQ(pick_platform(Settings{}, "p5.48xlarge").speed_override_mbps, 0);
}

TEST(Platform, EffectiveSettingsFillInThePlatform) {  // S17
    Settings user;
    user.cq_size = 5;
    const Settings p3dn = effective_settings(user, pick_platform(user, "p3dn.24xlarge"), "efa");
    EXPECT_EQ(p3dn.cq_size, 5U);
    EXPECT_EQ(p3dn.nic_dup_conns, 4);
    EXPECT_DOUBLE_EQ(p3dn.net_latency_us, 150.0);
    EXPECT_EQ(p3dn.domain_per_thread, false);
    EXPECT_EQ(p3dn.ofi_provider, "efa");

    const Settings other = effective_settings(user, pick_platform(user, "KVM"), "efa");
    EXPECT_EQ(other.nic_dup_conns, 0);
    EXPECT_DOUBLE_EQ(other.net_latency_us, 75.0);
    EXPECT_EQ(other.ofi_provider, "");

    user.ofi_provider = "tcp";
    EXPECT_EQ(effective_settings(user, pick_platform(user, "p3dn.24xlarge"), "efa").ofi_provider,
              "tcp");
}

TEST(Platform, LinesOfI5) {
    {
        const LogLines log;
        log_platform(pick_platform(Settings{}, "KVM"), "efa");
        EXPECT_EQ(log.texts(),
                  std::vector<std::string>{"NET/OFI Plugin selected platform: Default"});
    }
    const LogLines log;
    log_platform(pick_platform(Settings{}, "p4d.24xlarge"), "efa");
    const std::vector<std::string> expected{
        "NET/OFI Plugin selected platform: AWS", "NET/OFI Configuring AWS-specific options",
        "NET/OFI Setting provider_filter to efa", "NET/OFI Internode latency set at 75.0 us",
        "NET/OFI NCCL_TOPO_FILE is not written for instance type p4d.24xlarge in this version"};
    EXPECT_EQ(log.texts(), expected);
    EXPECT_EQ(log.warnings(), 0U);
}

TEST(Platform, ProductNameIsTheFirstLineOfTheDmiFile) {
    char folder[] = "/tmp/duofi-platform-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    const std::filesystem::path root(folder);
    const auto file = root / "sys/devices/virtual/dmi/id/product_name";
    EXPECT_EQ(read_product_name(root.string()), "") << "no DMI (T25)";
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "p4d.24xlarge\nsecond line\n";
    EXPECT_EQ(read_product_name(root.string()), "p4d.24xlarge");
    std::ofstream(file) << "";
    EXPECT_EQ(read_product_name(root.string()), "");
    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace duofi::topology
