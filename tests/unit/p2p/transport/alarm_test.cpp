// A kernel that fails on one rank ends the operations of the ranks that share edges with it, and of
// those behind them. Units: p2p/operations, p2p/transport/communicator.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "p2p/operations.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// Rank 0 gives up after a moment, the others never do by themselves.
void only_rank_0_is_impatient(int rank, CommunicatorOptions& options) {
    options.settings.p2p_timeout_s = rank == 0 ? 0.1 : 0;
}

Status reduce(Communicator& communicator, std::size_t count) {
    Operations operations(communicator, kAllProtocols);
    std::vector<std::int32_t> data(count, 1);
    return operations.ring({.kind = RingCollective::all_reduce,
                            .type = DataType::int32,
                            .input = data.data(),
                            .output = data.data(),
                            .count = count});
}

class Alarm : public testing::TestWithParam<std::tuple<Wiring, bool>> {};

TEST_P(Alarm, a_failure_of_one_ends_the_waits_of_all) {
    const auto [wiring, read] = GetParam();
    constexpr int kRanks = 5;
    for (const std::size_t count : {std::size_t{4}, std::size_t{100}, std::size_t{100000}}) {
        duofi::test::LogLines lines;
        Team team(kRanks, "host",
                  [&, mode = wiring, pulls = read](int rank, CommunicatorOptions& o) {
                      wire_as(mode, pulls, rank, o);
                      only_rank_0_is_impatient(rank, o);
                  });
        ASSERT_TRUE(team.whole());
        // Rings only: ranks 2 and 3 share no edge with the one that fails.
        team.run([](int, Communicator& one) { ASSERT_TRUE(one.connect_ring()); });
        std::atomic<int> told{0};
        team.run([&](int rank, Communicator& communicator) {
            if (rank == kRanks - 1) return;  // the one that all wait for
            const Status done = reduce(communicator, count);
            ASSERT_FALSE(done) << rank;
            if (rank == 0) {
                EXPECT_EQ(done.error().code, Errc::timed_out);
            } else {
                EXPECT_EQ(done.error().code, Errc::remote) << rank;
                EXPECT_EQ(communicator.alarm(), 0) << rank;
                ++told;
            }
            EXPECT_FALSE(communicator.usable());
        });
        EXPECT_EQ(told, kRanks - 2);
        EXPECT_EQ(lines.with("because an operation failed on rank 0").size(), 3U) << lines.dump();
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, Alarm,
                         testing::Values(std::tuple(Wiring::direct, false),
                                         std::tuple(Wiring::ipc, false),
                                         std::tuple(Wiring::ipc, true),
                                         std::tuple(Wiring::relay, false)),
                         [](const auto& one) {
                             return std::string(name_of(std::get<0>(one.param))) +
                                    (std::get<1>(one.param) ? "_read" : "_write");
                         });

class AlarmOfDeaths : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(team.whole());
        team.connect_all();
    }
    Team team{3, "host"};
    Communicator& survivor = team.rank(2);
    duofi::test::LogLines lines;
};

HostIdentity dead_process() {
    HostIdentity dead = read_host_identity();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    dead.pid = static_cast<std::uint32_t>(child);
    return dead;
}

// The neighbour's alarm may come before this rank's own watch has seen the process end.
TEST_F(AlarmOfDeaths, names_the_dead_rank_though_its_watch_is_late) {
    survivor.comm().processes[1] = dead_process();
    std::jthread neighbour([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        survivor.abort();
    });
    const Status done = reduce(survivor, 1000);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::remote);
    EXPECT_EQ(survivor.comm().lost_rank(), 1) << lines.dump();
}

// Rank 0 has left because of the one that died first.
TEST_F(AlarmOfDeaths, names_the_one_that_the_alarm_is_about) {
    for (const std::size_t gone : {std::size_t{0}, std::size_t{1}}) survivor.comm().processes[gone] = dead_process();
    team.rank(0).raise_alarm(1);
    EXPECT_FALSE(reduce(survivor, 1000));
    EXPECT_EQ(survivor.comm().lost_rank(), 1) << lines.dump();
}

TEST(AlarmOfUsers, an_abort_stays_with_its_rank) {
    Team team(2, "host");
    ASSERT_TRUE(team.whole());
    team.connect_all();
    team.rank(0).abort();
    EXPECT_FALSE(reduce(team.rank(0), 10));
    EXPECT_EQ(team.rank(1).alarm(), -1);
    EXPECT_TRUE(team.rank(1).usable());
}

}  // namespace
}  // namespace duofi::p2p::test
