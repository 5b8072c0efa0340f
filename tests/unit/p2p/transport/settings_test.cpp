// What users set, and what comes of it.
// Units: p2p/transport/communicator_init, p2p/caller_setting.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstring>

#include "p2p/transport/edge.hpp"
#include "p2p/transport/sizes.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

using Bytes = std::array<std::size_t, NCCL_NUM_PROTOCOLS>;

Bytes sizes_with(const Team::Change& change) {
    Team team(1, "host", change);
    return team.whole() ? team.comm(0).buff_sizes.bytes : Bytes{};
}

TEST(BufferSettings, defaults_are_those_of_cpus) {  // p2p contract 6.3
    EXPECT_EQ(sizes_with({}), (Bytes{524288, 4915200, 2097152}));
}

TEST(BufferSettings, compat_takes_those_of_devices_and_no_additions) {
    Team team(1, "host",
              [](int, CommunicatorOptions& options) { options.settings.p2p_compat = true; });
    ASSERT_TRUE(team.whole());
    EXPECT_EQ(team.comm(0).buff_sizes.bytes, (Bytes{524288, 4915200, 4194304}));
    EXPECT_FALSE(team.comm(0).options.trailer);
    EXPECT_FALSE(team.comm(0).options.relay);
}

TEST(BufferSettings, variables_count_and_bad_ones_are_named) {
    duofi::test::LogLines lines;
    EXPECT_EQ(sizes_with([](int, CommunicatorOptions& options) {
                  options.settings.nccl_buffsize = "64K";
                  options.settings.nccl_ll_buffsize = "2048";
                  options.settings.nccl_ll128_buffsize = "many";
              }),
              (Bytes{2048, 4915200, 65536}));
    EXPECT_TRUE(lines.info("NCCL_BUFFSIZE set by environment to 64K")) << lines.dump();
    EXPECT_FALSE(lines.with("P2P NCCL_LL128_BUFFSIZE=\"many\" is not used").empty());
}

TEST(BufferSettings, options_win_over_variables) {
    EXPECT_EQ(sizes_with([](int, CommunicatorOptions& options) {
                  options.settings.nccl_buffsize = "64K";
                  options.buffer_bytes = {0, 0, 8192};
              }),
              (Bytes{524288, 4915200, 8192}));
}

TEST(Settings, disabled_p2p_leaves_no_transport) {  // T-11
    duofi::test::LogLines lines;
    Team team(2, "host", [](int, CommunicatorOptions& options) {
        options.settings.nccl_p2p_disable = "1";
        options.timeout = 2 * kSecond;
    });
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_ring()); });
    EXPECT_FALSE(lines.with("No transport found between devices 0 and 0").empty());
    EXPECT_STREQ(team.rank(0).edge_text(1), "");
}

TEST(Settings, the_ready_line_tells_what_is_in_force) {
    duofi::test::LogLines lines;
    Team team(2, "unified");
    ASSERT_TRUE(team.whole());
    EXPECT_EQ(lines.with("rank=1 nranks=2 runtime=unified device=0").size(), 1U) << lines.dump();
}

TEST(Settings, a_device_that_is_not_there) {
    duofi::test::LogLines lines;
    run_threads(2, [](int rank, Bootstrap& bootstrap) {
        CommunicatorOptions options = options_for("host");
        options.device = rank == 0 ? 0 : 1000;
        EXPECT_FALSE(Communicator::create(bootstrap, options));
    });
    EXPECT_FALSE(lines.with("rank 1 gave up during init").empty()) << lines.dump();
}

TEST(Settings, one_runtime_per_process) {
    duofi::test::LogLines lines;
    Team first(1, "host");
    ASSERT_TRUE(first.whole());
    run_threads(1, [](int, Bootstrap& bootstrap) {
        const auto second = Communicator::create(bootstrap, options_for("unified"));
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, Errc::invalid_usage);
    });
}

TEST(Peers, an_access_that_cannot_be_enabled_is_named) {  // p2p contract 1.15
    duofi::test::LogLines lines;
    static RuntimeTable table;
    table = *runtime::find_table("host");
    table.device_enable_peer_access = [](int, unsigned) { return static_cast<int>(Errc::system); };
    Team team(2, "host", [](int, CommunicatorOptions& options) { options.runtime = &table; });
    ASSERT_TRUE(team.whole());
    for (int rank : {0, 1}) team.comm(rank).peer_info[1].cudaDev = 3;
    team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_all()); });
    EXPECT_FALSE(lines.with("failed to peer with device").empty()) << lines.dump();
}

TEST(Peers, access_that_is_enabled_already_is_fine) {
    static RuntimeTable table;
    table = *runtime::find_table("host");
    table.device_enable_peer_access = [](int, unsigned) {
        return static_cast<int>(kPeerAccessAlreadyEnabled);
    };
    Team team(2, "host", [](int, CommunicatorOptions& options) { options.runtime = &table; });
    ASSERT_TRUE(team.whole());
    for (int rank : {0, 1}) team.comm(rank).peer_info[1].cudaDev = 3;
    team.connect_all();
}

/// Rank 0 of two; rank 1 says of itself that it is another process of this node.
class StrangerBootstrap final : public Bootstrap {
  public:
    int rank() const noexcept override { return 0; }
    int size() const noexcept override { return 2; }
    Status all_gather(std::span<const std::byte> mine, std::span<std::byte> all, const char*,
                      const Deadline&) override {
        RankRecord record;
        EXPECT_EQ(mine.size(), sizeof(record));
        std::memcpy(&record, mine.data(), sizeof(record));
        std::memcpy(all.data(), &record, sizeof(record));
        record.info.rank = 1;
        record.process.pid = 1;
        std::memcpy(all.data() + sizeof(record), &record, sizeof(record));
        return {};
    }
    Status send(int, MessageType, std::span<const std::byte>, const char*,
                const Deadline&) override {
        return {};
    }
    Result<Message> receive(int, const char*, const Deadline&) override {
        return fail(Errc::timed_out, "receive");
    }
};

TEST(Watch, a_rank_that_cannot_be_watched_is_named) {
    duofi::test::LogLines lines;
    pthread_attr_t before, endless;
    ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
    ASSERT_EQ(::pthread_attr_init(&endless), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&endless, std::size_t{1} << 50), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&endless), 0);  // no thread can start
    StrangerBootstrap bootstrap;
    {
        const auto made = Communicator::create(bootstrap, options_for("unified"));
        EXPECT_TRUE(made);
    }
    ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
    ::pthread_attr_destroy(&endless);
    ::pthread_attr_destroy(&before);
    EXPECT_FALSE(lines.with("the end of rank 1 will not be noticed").empty()) << lines.dump();
}

}  // namespace
}  // namespace duofi::p2p::test
