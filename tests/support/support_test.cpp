// The test tools themselves: a tool that cannot fail proves nothing.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include <unistd.h>

#include "tests/support/log_capture.hpp"
#include "tests/support/memory_buffer.hpp"
#include "tests/support/message_plan.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/rank_threads.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/support/rank_crew.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

DUOFI_RANK_BODY(gathers_in_rank_order) {
    for (int round = 0; round < 50; ++round) {
        const auto all = rank.all_gather(rank.index * 100 + round);
        for (int i = 0; i < rank.count; ++i) {
            require(all[static_cast<std::size_t>(i)] == i * 100 + round, "round {} slot {}", round,
                    i);
        }
    }
}

DUOFI_RANK_BODY(threads_meet_in_lanes) {
    in_threads(rank, RankChannel::kLanes - 1, [](Rank& own) {
        for (int round = 0; round < 20; ++round) {
            const auto all = own.all_gather(own.lane * 1000 + own.index);
            for (int i = 0; i < own.count; ++i)
                require(all[static_cast<std::size_t>(i)] == own.lane * 1000 + i, "lane {} slot {}", own.lane, i);
        }
    });
    int beside = 0;
    run_beside(rank, [&] { rank.barrier(); }, [&] { beside = 1; });
    require(beside == 1, "nothing ran beside");
}

DUOFI_RANK_BODY(one_thread_fails) {
    in_threads(rank, 3, [](Rank& own) {
        require(own.index != 1 || own.lane != 2, "planned");
        own.barrier();
        own.barrier();
    });
}

DUOFI_RANK_BODY(one_fails) {
    require(rank.index != 1, "planned");
    rank.barrier();
}

DUOFI_RANK_BODY(one_is_killed) {
    const auto pids = rank.all_gather(::getpid());
    if (rank.index == 1) ::raise(SIGSTOP);
    if (rank.index == 0) {
        ::kill(pids[1], SIGKILL);
        rank.channel->drop_members(1);
    }
    if (rank.index != 1) rank.barrier();
}

DUOFI_RANK_BODY(warns) {
    log_capture::record(NCCL_LOG_WARN, NCCL_NET, "here", 1, "value %d", 5);
    if (rank.text("expect") == "yes") log_capture::expect_warn("value 5");
}

DUOFI_RANK_BODY(sleeps_too_long) {
    rank.barrier();
    ::pause();
}

GroupOptions options(int ranks, RankMode mode) {
    GroupOptions o;
    o.ranks = ranks;
    o.mode = mode;
    o.timeout = 20 * kSecond;
    return o;
}

TEST(PeerGroup, gathers_between_threads_and_processes) {
    run_group("gathers_in_rank_order", options(8, RankMode::threads));
    run_group("gathers_in_rank_order", options(8, RankMode::processes));
}

TEST(PeerGroup, reports_a_failed_rank_and_frees_the_others) {
    testing::TestPartResultArray results;
    {
        testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
        const Nanoseconds start = now_ns();
        run_group("one_fails", options(4, RankMode::processes));
        EXPECT_LT(now_ns() - start, patience(10 * kSecond));
    }
    EXPECT_EQ(results.size(), 4) << "each rank ends with a failure";
}

TEST(RankThreads, meet_those_of_other_ranks) {
    run_group("threads_meet_in_lanes", options(4, RankMode::threads));
    run_group("threads_meet_in_lanes", options(4, RankMode::processes));
}

TEST(RankThreads, a_failed_thread_frees_all_ranks) {
    testing::TestPartResultArray results;
    {
        testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
        const Nanoseconds start = now_ns();
        run_group("one_thread_fails", options(2, RankMode::processes));
        EXPECT_LT(now_ns() - start, patience(10 * kSecond));
    }
    EXPECT_EQ(results.size(), 2) << "each rank ends with a failure";
}

TEST(PeerGroup, expects_a_killed_rank) {
    GroupOptions o = options(4, RankMode::processes);
    o.ends[1] = RankEnd::killed;
    run_group("one_is_killed", o);
}

TEST(PeerGroup, ends_a_late_group) {
    testing::TestPartResultArray results;
    {
        testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
        GroupOptions o = options(2, RankMode::processes);
        o.timeout = kSecond;
        run_group("sleeps_too_long", o);
    }
    ASSERT_EQ(results.size(), 1);
    EXPECT_NE(std::string(results.GetTestPartResult(0).message()).find("did not end in time"),
              std::string::npos);
}

DUOFI_RANK_BODY(one_dies) {
    if (rank.index == 1) ::raise(SIGKILL);
    rank.barrier();
}

TEST(RankCrew, keeps_its_processes_and_replaces_them_after_a_failure) {
    RankCrew crew(options(3, RankMode::processes));
    crew.run("gathers_in_rank_order");
    crew.run("gathers_in_rank_order");
    testing::TestPartResultArray results;
    {
        testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
        crew.run("one_fails");
        crew.run("one_dies");
        crew.run("warns");
    }
    EXPECT_EQ(results.size(), 3);
    crew.run("gathers_in_rank_order");
}

TEST(LogCapture, an_unexpected_warning_fails_the_rank) {
    GroupOptions o = options(1, RankMode::processes);
    o.exit_codes[0] = 1;
    run_group("warns", o);
    o.exit_codes.clear();
    o.args["expect"] = "yes";
    run_group("warns", o);
}

TEST(MemoryBuffer, sees_every_changed_byte_and_guard) {
    MemoryBuffer buffer(1000, 3);
    buffer.fill(42);
    EXPECT_FALSE(first_mismatch(buffer.data(), 1000, 42));
    for (const std::size_t at : {0U, 1U, 7U, 8U, 500U, 999U}) {
        buffer.data()[at] ^= 1U;
        EXPECT_EQ(first_mismatch(buffer.data(), 1000, 42), at);
        buffer.data()[at] ^= 1U;
    }
    EXPECT_TRUE(buffer.guards_intact());
    buffer.data()[1000] = 0;
    EXPECT_FALSE(buffer.guards_intact());
    buffer.poison();
    EXPECT_TRUE(buffer.guards_intact(10));
    buffer.data()[-1] = 0;
    EXPECT_FALSE(buffer.guards_intact(10));
    EXPECT_TRUE(first_mismatch(buffer.data(), 1000, 42));
}

TEST(MessagePlan, matches_the_kth_send_of_a_tag_with_the_kth_part) {
    Plan plan;
    plan.sends = {{1, 5}, {2, 6}, {3, 5}, {4, 5}};
    plan.recvs = {{{9, 5}, {9, 5}}, {{9, 6}, {9, 5}}};
    EXPECT_EQ(match_plan(plan), (std::vector<std::size_t>{0, 2, 1, 3}));
    plan.sends.pop_back();
    EXPECT_THROW((void)match_plan(plan), TestFailure);
}

TEST(ProcessFacts, sees_a_thread_and_a_descriptor) {
    const ProcessFacts before = ProcessFacts::now();
    const UniqueFd extra(::dup(0));
    std::thread([&] { EXPECT_EQ(ProcessFacts::now().threads, before.threads + 1); }).join();
    EXPECT_EQ(ProcessFacts::now().descriptors.size(), before.descriptors.size() + 1);
    EXPECT_TRUE(before.maps_library("support_test"));
}

TEST(ScopedEnv, puts_the_value_back) {
    const ScopedEnv outer("DUOFI_TEST_WORD", "a");
    {
        const ScopedEnv inner("DUOFI_TEST_WORD", std::nullopt);
        EXPECT_EQ(env_value("DUOFI_TEST_WORD"), std::nullopt);
    }
    EXPECT_EQ(env_value("DUOFI_TEST_WORD"), "a");
}

}  // namespace
}  // namespace duofi::test
