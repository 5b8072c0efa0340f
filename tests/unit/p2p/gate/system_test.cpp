// From settings to the gate of a communicator: V-13, NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE, the matrix in
// the log, made-up machines (p2p contract 3.3, 3.6, 3.7).
// Units: p2p/gate/system, p2p/runtime/sim_plan, p2p/runtime/sim.
#include "p2p/gate/system.hpp"

#include <gtest/gtest.h>

#include "p2p/runtime/sim.hpp"
#include "tests/unit/p2p/gate/hwloc_file.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

struct SystemTest : testing::Test {
    duofi::test::LogLines lines;
    Settings settings;
    ncclTopoSystem topo;
    runtime::Use use;

    Status describe(const std::string& runtime, const std::string& sim = "") {
        use = {};
        settings.p2p_runtime = runtime;
        settings.p2p_sim = sim;
        auto acquired = runtime::acquire(settings);
        if (!acquired) return tl::unexpected<Error>(acquired.error());
        use = std::move(*acquired);
        topo = {};
        return describe_system(runtime, runtime::has(kRelay), settings, topo);
    }
};

TEST_F(SystemTest, LevelsComeFromTheVariableEachTimeAnew) {  // V-13
    ASSERT_TRUE(describe("host"));
    EXPECT_EQ(topo.level, PathType::sys);
    EXPECT_FALSE(topo.level_set);
    settings.nccl_p2p_level = "PXB";
    ASSERT_TRUE(describe("host"));
    EXPECT_EQ(topo.level, PathType::pxb);
    EXPECT_TRUE(topo.level_set);
    EXPECT_TRUE(lines.info("NCCL_P2P_LEVEL set by environment to PXB")) << lines.dump();
    settings.nccl_p2p_level = "3";
    ASSERT_TRUE(describe("host"));
    EXPECT_EQ(topo.level, PathType::phb);
    settings.nccl_p2p_level = "near";
    ASSERT_TRUE(describe("host"));
    EXPECT_EQ(topo.level, PathType::sys);
    EXPECT_FALSE(topo.level_set);
    ASSERT_EQ(lines.with("NCCL_P2P_LEVEL=\"near\" is not used").size(), 1U) << lines.dump();
    EXPECT_NE(lines.with("is not used")[0].text.find("SYS"), std::string::npos) << "names what is accepted";
}

TEST_F(SystemTest, OtherVariables) {
    settings.nccl_p2p_disable = "1";
    settings.nccl_nvb_disable = settings.nccl_net_disable_intra = "1";
    settings.nccl_p2p_read_enable = "0";
    settings.p2p_pods = settings.p2p_prefer_net = true;
    ASSERT_TRUE(describe("unified"));
    EXPECT_TRUE(topo.disabled && !topo.nvb && !topo.net_inside && topo.pods && topo.prefer_net && topo.unified);
    EXPECT_TRUE(topo.plain_formula) << "as the base decides";
    EXPECT_EQ(topo.read_override, 0);
    settings.nccl_p2p_disable = "yes";
    ASSERT_TRUE(describe("host"));
    EXPECT_FALSE(topo.disabled || topo.unified || topo.plain_formula);
    EXPECT_FALSE(lines.with("NCCL_P2P_DISABLE=\"yes\" is not used").empty());
}

TEST_F(SystemTest, RelaysAreNeededWhereFastLinksAre) {
    ASSERT_TRUE(describe("host"));
    EXPECT_FALSE(may_need_relays(topo));
    ASSERT_TRUE(describe("sim", "topo=trn1:16"));
    EXPECT_TRUE(may_need_relays(topo));
    ASSERT_TRUE(describe("sim", "topo=trn1:16;base=unified"));
    EXPECT_FALSE(may_need_relays(topo)) << "path and access decide there";
    settings.nccl_nvb_disable = "1";
    ASSERT_TRUE(describe("sim", "topo=trn1:16"));
    EXPECT_FALSE(may_need_relays(topo));
}

TEST_F(SystemTest, MadeUpMachinesHaveTheirDevices) {
    ASSERT_TRUE(describe("sim", "topo=trn2:8;pod=p2p:7:2:4;vserver=3"));
    EXPECT_EQ(*runtime::device_count(), 8);
    const auto info = runtime::device_info(5);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->family, static_cast<int>(NeuronFamily::trn2));
    EXPECT_EQ(*runtime::device_family(5), info->family);
    EXPECT_EQ(info->mla_index, 5);
    EXPECT_EQ(info->pod_type, 1);
    EXPECT_EQ(info->pod_id, 7U);
    EXPECT_EQ(info->pod_node, 2);
    EXPECT_EQ(info->pod_size, 4);
    EXPECT_EQ(info->virtual_server, 3);
    EXPECT_EQ(*runtime::bus_id(5), made_up_bus_id(5));
    EXPECT_EQ(*runtime::device_by_bus_id(made_up_bus_id(5)), 5);
    EXPECT_FALSE(runtime::device_by_bus_id(0x5000));
    EXPECT_TRUE(*runtime::can_access_peer(0, 4));
    EXPECT_FALSE(*runtime::can_access_peer(0, 5));
    ASSERT_TRUE(describe("sim", "topo=trn2:8;reach=instance"));
    EXPECT_TRUE(*runtime::can_access_peer(0, 5));
}

TEST_F(SystemTest, MadeUpMachinesThatDoNotExist) {
    for (const char* bad : {"topo=", "topo=trn1:3", "topo=/nonexistent.xml", "topo=trn1:4;devices=2", "reach=far",
                            "topo=trn1;pod=ring:1:2", "topo=trn1;pod=p2p:1:2", "topo=trn1;pod=switch:1:2:3",
                            "vserver=-1"}) {
        const std::size_t before = lines.warnings();
        EXPECT_FALSE(describe("sim", bad)) << bad;
        EXPECT_GT(lines.warnings(), before) << bad;
    }
    EXPECT_FALSE(lines.with("DUOFI_P2P_SIM topo: /nonexistent.xml:0: cannot be read").empty()) << lines.dump();
    HwlocFile f;
    const TextFile empty(f.machine({""}));
    EXPECT_FALSE(describe("sim", "topo=" + empty.path())) << "no devices";
}

TEST_F(SystemTest, RankZeroLogsTheMatrixAndWritesTheMachine) {  // p2p contract 3.6, 3.7
    const TextFile folder("");
    const std::string written = folder.path() + ".dump";
    Team team(4, "sim", [&](int rank, CommunicatorOptions& options) {
        options.settings.p2p_sim = "topo=trn1:4";
        options.settings.nccl_topo_dump_file = written;
        options.device = rank;
    });
    ASSERT_TRUE(team.whole());
    EXPECT_TRUE(lines.info("P2P DEV0     X    NVL-D  NVB-R  NVL-D  -            0    0    -")) << lines.dump();
    EXPECT_EQ(lines.with("level in force: SYS (default) | source: description trn1:4").size(), 1U);
    const auto again = model_of_file(written);
    ASSERT_TRUE(again) << again.error().reason;
    EXPECT_EQ(again->devices().size(), 4U);
}

TEST_F(SystemTest, VirtualServersAreHostsOfTheirOwn) {  // V-16
    duofi::test::LogLines quiet(log::Level::warn);
    std::uint64_t hashes[2];
    for (int server : {0, 1}) {
        ASSERT_TRUE(describe("sim", server == 0 ? "topo=trn1:4" : "topo=trn1:4;vserver=1"));
        const auto record = describe_rank(0, 0, "node", 0);
        ASSERT_TRUE(record);
        hashes[server] = record->info.hostHash;
    }
    EXPECT_NE(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace duofi::p2p::test
