#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/unit/tools/command.hpp"

namespace duofi::test {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

using Arguments = std::vector<std::string>;

TEST(Command, tells_versions_and_refuses_wrong_usage_with_2) {
    const Ended version = Command({"--version"}).wait();
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_TRUE(contains(version.out, "libfabric"));
    EXPECT_TRUE(contains(version.out, "ncclNetPlugin_v6"));
    for (const Arguments& wrong : std::vector<Arguments>{{},
                                                         {"nosuch"},
                                                         {"demo", "-n", "0"},
                                                         {"demo", "-b", "64", "-e", "8"},
                                                         {"demo", "-f", "1"},
                                                         {"demo", "--csv", "--json"},
                                                         {"bench", "-r", "0"}}) {
        const Ended ended = Command(wrong).wait();
        EXPECT_EQ(ended.exit_code, 2) << (wrong.empty() ? "" : wrong.front());
        EXPECT_EQ(ended.out, "");
    }
}

TEST(Command, help_lists_the_exit_codes) {
    for (const char* sub : {"info", "demo", "bench", "topo"}) {
        const Ended help = Command({sub, "--help"}).wait();
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_TRUE(
            contains(help.out, "Exit codes: 0 ok, 1 a check failed, 2 wrong usage, 77 skipped"));
    }
}

TEST(Info, describes_file_tables_and_refusals) {
    const Ended info = Command({"info", "--json"}).wait();
    EXPECT_EQ(info.exit_code, 0) << info.err;
    for (const char* part :
         {"\"kind\": \"info\"", "libduofi-plugin.so", "ncclNetPlugin_v6",
          "\"network_name\": \"duofi\"", "\"reason\"", "libfabric.so", "\"fingerprint\": \"duofi "})
        EXPECT_TRUE(contains(info.out, part)) << part;
}

TEST(Info, tells_the_source_of_a_setting_and_fails_on_a_bad_one) {
    const Ended good = Command({"info", "--settings"}, {{"DUOFI_STALL_SECONDS", "7"}}).wait();
    EXPECT_EQ(good.exit_code, 0);
    EXPECT_TRUE(contains(good.out, "environment"));
    const Ended bad = Command({"info", "--settings"}, {{"OFI_NCCL_CQ_SIZE", "abc"}}).wait();
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_TRUE(contains(bad.err, "OFI_NCCL_CQ_SIZE"));
}

TEST(Info, fails_for_a_plugin_that_is_not_there) {
    const Ended info = Command({"info", "nosuch"}).wait();
    EXPECT_EQ(info.exit_code, 1);
    EXPECT_TRUE(contains(info.out, "nosuch"));
}

TEST(Demo, checks_every_byte_of_four_ranks) {
    const Ended demo = Command({"demo", "-e", "64K"}).wait();
    EXPECT_EQ(demo.exit_code, 0) << demo.err;
    EXPECT_TRUE(contains(demo.out, "# Out of bounds values : 0 OK"));
    EXPECT_TRUE(contains(demo.out, "bytes checked on 4 ranks: OK"));
    EXPECT_TRUE(contains(demo.out, "table v6"));
    const std::size_t one_sided = demo.out.find("# one-sided: each of 4 ranks");
    ASSERT_NE(one_sided, std::string::npos) << demo.out;
    EXPECT_TRUE(contains(demo.out.substr(one_sided), "# Out of bounds values : 0 OK"));
    EXPECT_TRUE(contains(demo.out.substr(one_sided), "bytes checked on 4 ranks: OK"));
    const std::size_t shared = demo.out.find("# shared memory: all-reduce of 4 ranks");
    ASSERT_NE(shared, std::string::npos) << demo.out;
    EXPECT_TRUE(contains(demo.out.substr(shared), "# next rank by P2P/IPC;"));
    const std::size_t network = demo.out.find("# network: all-reduce of 4 ranks");
    const std::size_t mixed = demo.out.find("# mixed: all-reduce of 4 ranks");
    ASSERT_TRUE(network != std::string::npos && mixed != std::string::npos) << demo.out;
    EXPECT_TRUE(contains(demo.out.substr(network), "# next rank by NET_NEURON;")) << demo.out;
    EXPECT_TRUE(contains(demo.out.substr(mixed), "# next rank by P2P/IPC and NET_NEURON;"));
    EXPECT_TRUE(contains(demo.out.substr(mixed), "bytes checked on 4 ranks: OK"));
    EXPECT_TRUE(contains(demo.out.substr(shared), "bytes checked on 4 ranks: OK"));
    EXPECT_EQ(demo.err, "");
}

TEST(Demo, says_clearly_that_the_one_sided_part_failed) {
    const Ended demo = Command({"demo", "-n", "2", "-e", "64"},
                               {{"NCCL_RMA_PLUGIN", "nosuch"}, {"DUOFI_RMA", "0"}})
                           .wait();
    EXPECT_EQ(demo.exit_code, 1);
    EXPECT_TRUE(contains(demo.err, "one-sided: no RMA plugin \"nosuch\" could be opened"))
        << demo.err;
    EXPECT_TRUE(contains(demo.out, "# FAILED: rank ")) << demo.out;
    const Ended without =
        Command({"demo", "-n", "2", "-e", "64", "--no-one-sided"}, {{"NCCL_RMA_PLUGIN", "nosuch"}})
            .wait();
    EXPECT_EQ(without.exit_code, 0) << without.err;
    EXPECT_FALSE(contains(without.out, "one-sided"));
    EXPECT_TRUE(contains(without.out, "shared memory"));
}

TEST(Demo, leaves_out_what_it_is_told) {
    const Ended demo = Command({"demo", "-n", "2", "-e", "64", "--no-one-sided", "--no-p2p"}).wait();
    EXPECT_EQ(demo.exit_code, 0) << demo.err;
    EXPECT_FALSE(contains(demo.out, "shared memory"));
}

TEST(Demo, takes_sizes_that_are_no_power_of_two_and_prints_json_lines_alone) {
    const Ended demo =
        Command({"demo", "-n", "2", "-b", "7", "-e", "70000", "-f", "13", "--json"}).wait();
    EXPECT_EQ(demo.exit_code, 0) << demo.err;
    // 7, 91, 1183, 15379 in three tables, and the end
    EXPECT_EQ(std::count(demo.out.begin(), demo.out.end(), '\n'), 13);
    EXPECT_TRUE(contains(demo.out, "\"table\":\"p2p\"")) << demo.out;
    EXPECT_TRUE(contains(demo.out, "\"table\":\"rma_v16\"")) << demo.out;
    EXPECT_TRUE(contains(demo.out, "\"kind\":\"demo_end\""));
    EXPECT_TRUE(contains(demo.out, "\"wrong_bytes\":0,\"ok\":true"));
}

TEST(Demo, uses_the_provider_it_is_told) {
    const Ended demo = Command({"demo", "-n", "2", "-e", "1K", "--provider", "shm"}).wait();
    EXPECT_EQ(demo.exit_code, 0) << demo.err;
    EXPECT_TRUE(contains(demo.out, "# provider shm "));
}

TEST(Demo, counts_bytes_that_a_plugin_damaged) {
    const Ended demo =
        Command({"demo", "-n", "2", "-e", "64"}, {{"NCCL_NET_PLUGIN", "corrupting"}}).wait();
    EXPECT_EQ(demo.exit_code, 1);
    const std::size_t one_sided = demo.out.find("# one-sided");
    ASSERT_NE(one_sided, std::string::npos) << demo.out;
    const std::string ring = demo.out.substr(0, one_sided);
    EXPECT_TRUE(contains(ring, "bytes checked on 2 ranks: FAILED")) << demo.out;
    EXPECT_FALSE(contains(ring, "# Out of bounds values : 0 ")) << demo.out;
    EXPECT_TRUE(contains(demo.out.substr(one_sided), "bytes checked on 2 ranks: OK")) << demo.out;
}

TEST(Demo, counts_bytes_that_an_rma_plugin_damaged) {
    const Ended demo = Command({"demo", "-n", "2", "-e", "64"},
                               {{"NCCL_RMA_PLUGIN", "corrupting"}, {"DUOFI_RMA", "1"}})
                           .wait();
    EXPECT_EQ(demo.exit_code, 1);
    const std::size_t one_sided = demo.out.find("# one-sided");
    ASSERT_NE(one_sided, std::string::npos) << demo.out << demo.err;
    EXPECT_TRUE(contains(demo.out.substr(0, one_sided), "bytes checked on 2 ranks: OK"));
    EXPECT_TRUE(contains(demo.out.substr(one_sided), "bytes checked on 2 ranks: FAILED"))
        << demo.out;
}

TEST(Demo, fails_without_a_plugin_and_says_what_to_look_at) {
    const Ended demo = Command({"demo"}, {{"NCCL_NET_PLUGIN", "nosuch"}}).wait();
    EXPECT_EQ(demo.exit_code, 1);
    EXPECT_TRUE(contains(demo.err, "LD_LIBRARY_PATH"));
}

TEST(Demo, names_the_rank_that_was_killed) {
    Command demo({"demo", "-b", "8", "-e", "8", "-i", "1000000"});
    ASSERT_TRUE(demo.printed("#wrong"));
    const std::vector<pid_t> ranks = demo.children(4);
    ASSERT_EQ(ranks.size(), 4u);
    ASSERT_EQ(::kill(ranks[2], SIGKILL), 0);
    const Ended ended = demo.wait(30);
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_TRUE(contains(ended.out, "# FAILED: rank 2 ended by signal 9"))
        << ended.out << ended.err;
}

TEST(Demo, gives_up_on_a_stopped_rank_and_names_the_peer) {
    Command demo({"demo", "-n", "2", "-b", "8", "-e", "8", "-i", "1000000", "--step-limit", "1"});
    ASSERT_TRUE(demo.printed("#wrong"));
    const std::vector<pid_t> ranks = demo.children(2);
    ASSERT_EQ(ranks.size(), 2u);
    ASSERT_EQ(::kill(ranks[1], SIGSTOP), 0);
    const Ended ended = demo.wait(60);
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_TRUE(contains(ended.err, "of 8 bytes")) << ended.err;
    EXPECT_TRUE(contains(ended.err, "rank 1")) << ended.err;
}

TEST(Demo, is_one_rank_under_a_launcher) {
    const auto variables = [](const char* rank) {
        return std::vector<std::pair<std::string, std::string>>{
            {"RANK", rank},
            {"WORLD_SIZE", "2"},
            {"LOCAL_RANK", rank},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", std::to_string(20000 + ::getpid() % 10000)}};
    };
    Command first({"demo", "-e", "1K"}, variables("0"));
    Command second({"demo", "-e", "1K"}, variables("1"));
    const Ended one = first.wait(), two = second.wait();
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(two.exit_code, 0) << two.err;
    EXPECT_TRUE(contains(one.out, "rank facts from torchrun"));
    EXPECT_TRUE(contains(one.out, "bytes checked on 2 ranks: OK"));
    EXPECT_EQ(two.out, "");
}

TEST(Bench, measures_the_proxy_without_a_network) {
    const Ended bench =
        Command({"bench", "--proxy-only", "-r", "2", "-t", "0.004", "--json"}).wait();
    EXPECT_EQ(bench.exit_code, 0) << bench.err;
    EXPECT_EQ(std::count(bench.out.begin(), bench.out.end(), '\n'), 6);
    EXPECT_TRUE(contains(bench.out, "\"kind\":\"bench_proxy\"")) << bench.out;
    EXPECT_TRUE(contains(bench.out, "\"operation\":\"put+signal\"")) << bench.out;
    EXPECT_FALSE(contains(bench.out, "\"proxy_ns_median\":0.0"));
}

TEST(Bench, compares_shared_memory_with_a_counter_and_memcpy) {
    const Ended bench = Command({"bench", "--p2p-only", "-r", "1", "-t", "0.001", "--json"}).wait();
    EXPECT_EQ(bench.exit_code, 0) << bench.err;
    EXPECT_EQ(std::count(bench.out.begin(), bench.out.end(), '\n'), 18);
    EXPECT_TRUE(contains(bench.out, "\"kind\":\"bench_p2p\"")) << bench.out;
    EXPECT_TRUE(contains(bench.out, "\"ranks\":\"threads\"")) << bench.out;
    EXPECT_FALSE(contains(bench.out, "\"ratio_median\":0.0,"));
}

TEST(Bench, compares_both_and_writes_every_measurement) {
    const std::string file = ::testing::TempDir() + "duofi_bench_" + std::to_string(::getpid());
    const Ended bench =
        Command({"bench", "--provider", "shm", "-r", "2", "-t", "0.002", "--csv", file}).wait();
    EXPECT_EQ(bench.exit_code, 0) << bench.err;
    EXPECT_TRUE(contains(bench.out, "1 MiB stream W=32      raw writedata")) << bench.out;
    EXPECT_TRUE(contains(bench.out, "1 MiB get W=32         raw read")) << bench.out;
    std::ifstream csv(file);
    EXPECT_EQ(std::count(std::istreambuf_iterator<char>(csv), {}, '\n'), 1 + 2 * (14 + 18));
    std::filesystem::remove(file);
}

TEST(Bench, one_sided_only_measures_nothing_else) {
    const Ended bench = Command({"bench", "--one-sided-only", "--provider", "shm", "-r", "1", "-t",
                                 "0.002", "--json"})
                            .wait();
    EXPECT_EQ(bench.exit_code, 0) << bench.err;
    EXPECT_EQ(std::count(bench.out.begin(), bench.out.end(), '\n'), 9);
    EXPECT_TRUE(contains(bench.out, "\"part\":\"one_sided\"")) << bench.out;
    EXPECT_FALSE(contains(bench.out, "\"part\":\"two_sided\"")) << bench.out;
}

TEST(Bench, refuses_to_time_an_rma_plugin_that_damages_data) {
    const Ended bench =
        Command({"bench", "--one-sided-only", "--provider", "shm", "-r", "1", "-t", "0.002"},
                {{"NCCL_RMA_PLUGIN", "corrupting"}, {"DUOFI_RMA", "1"}})
            .wait();
    EXPECT_EQ(bench.exit_code, 1);
    EXPECT_TRUE(contains(bench.err, "wrong bytes")) << bench.err;
}

TEST(Bench, refuses_to_time_a_plugin_that_damages_data) {
    const Ended bench = Command({"bench", "--provider", "shm", "-r", "1", "-t", "0.002"},
                                {{"NCCL_NET_PLUGIN", "corrupting"}})
                            .wait();
    EXPECT_EQ(bench.exit_code, 1);
    EXPECT_TRUE(contains(bench.err, "wrong bytes")) << bench.err;
}

TEST(Bench, skips_a_provider_that_is_not_here) {
    const Ended bench = Command({"bench", "--provider", "efa"}).wait();
    EXPECT_EQ(bench.exit_code, 77) << bench.err;
}

}  // namespace
}  // namespace duofi::test
