// Starting, watching and reaping ranks (ecosystem 4.2).
// Units: common/bootstrap/local_spawn, common/bootstrap/child_process.
#include "common/bootstrap/local_spawn.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/util/settings.hpp"
#include "tests/unit/bootstrap/log_capture.hpp"

namespace duofi::bootstrap::test {
namespace {

SpawnRequest request(int size) {
    SpawnRequest made;
    made.size = size;
    made.timeout = 30 * kSecond;
    return made;
}

/// Sleeps until a signal ends the process.
[[noreturn]] void wait_for_ever() {
    while (true) ::pause();
}

void expect_no_children() {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(LocalSpawn, collects_exit_codes_by_rank) {
    auto outcome = run_ranks(request(4), [](int rank) { return rank < 4 ? 0 : 1; });
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->ok());
    EXPECT_EQ(outcome->summary(), "all 4 ranks exited with 0");
    ASSERT_EQ(outcome->ranks.size(), 4U);
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(outcome->ranks[static_cast<std::size_t>(rank)].rank, rank);
    expect_no_children();
}

TEST(LocalSpawn, ranks_see_the_variables) {
    SpawnRequest made = request(3);
    made.root_host = "here";
    made.root_port = 1234;
    made.variables = {{"DUOFI_TEST_EXTRA", "x y"}};
    auto outcome = run_ranks(made, [](int rank) {
        const auto is = [](const char* name, const std::string& value) {
            return environment_value(name) == value;
        };
        const std::string own = std::to_string(rank);
        return is("RANK", own) && is("LOCAL_RANK", own) && is("WORLD_SIZE", "3") &&
                       is("LOCAL_WORLD_SIZE", "3") && is("MASTER_ADDR", "here") &&
                       is("MASTER_PORT", "1234") && is("DUOFI_TEST_EXTRA", "x y")
                   ? 0
                   : 1;
    });
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->ok()) << outcome->summary();
    EXPECT_FALSE(environment_value("DUOFI_TEST_EXTRA")) << "the parent's environment is untouched";
}

TEST(LocalSpawn, one_failure_ends_the_others_and_is_named) {
    LogCapture capture;
    auto outcome = run_ranks(request(4), [](int rank) {
        if (rank != 1) wait_for_ever();
        return 7;
    });
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->ok());
    EXPECT_EQ(outcome->first_failed, 1);
    EXPECT_EQ(outcome->summary(), "rank 1 exited with 7");
    EXPECT_EQ(outcome->ranks[1].exit_code, 7);
    EXPECT_FALSE(outcome->ranks[1].stopped_by_us);
    for (const std::size_t rank : {0U, 2U, 3U}) {
        EXPECT_EQ(outcome->ranks[rank].signal_number, SIGTERM);
        EXPECT_TRUE(outcome->ranks[rank].stopped_by_us);
    }
    EXPECT_EQ(capture.count(log::Level::warn, "rank 1 exited with 7; ending the other ranks"), 1);
    expect_no_children();
}

TEST(LocalSpawn, a_crash_is_named_with_its_signal) {
    auto outcome = run_ranks(request(2), [](int rank) {
        if (rank == 0) wait_for_ever();
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->summary(), "rank 1 ended by signal 9 (Killed)");
}

TEST(LocalSpawn, stubborn_ranks_are_killed_after_the_grace) {
    SpawnRequest made = request(2);
    made.kill_grace = 50 * kMillisecond;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    auto outcome = run_ranks(made, [&ends](int rank) {
        std::signal(SIGTERM, SIG_IGN);
        char byte = 1;
        if (rank == 0 && ::write(ends[1], &byte, 1) == 1) wait_for_ever();
        return ::read(ends[0], &byte, 1) == 1 ? 1 : 2;
    });
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->first_failed, 1);
    EXPECT_EQ(outcome->ranks[0].signal_number, SIGKILL);
    expect_no_children();
}

TEST(LocalSpawn, the_deadline_ends_everything) {
    LogCapture capture;
    SpawnRequest made = request(3);
    made.timeout = 100 * kMillisecond;
    const Nanoseconds before = now_ns();
    auto outcome = run_ranks(made, [](int rank) {
        if (rank != 0) wait_for_ever();
        return 0;
    });
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->timed_out);
    EXPECT_FALSE(outcome->ok());
    EXPECT_EQ(outcome->summary(), "deadline passed");
    EXPECT_LT(now_ns() - before, 20 * kSecond);
    EXPECT_EQ(capture.count(log::Level::warn, "2 of 3 ranks still ran"), 1) << capture.all();
    expect_no_children();
}

TEST(LocalSpawn, stopped_ranks_do_not_survive_the_deadline) {
    SpawnRequest made = request(1);
    made.timeout = 100 * kMillisecond;
    made.kill_grace = 50 * kMillisecond;
    auto outcome = run_ranks(made, [](int) {
        ::raise(SIGSTOP);
        return 0;
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->ranks[0].signal_number, SIGKILL);
}

TEST(LocalSpawn, an_exception_is_an_exit_code) {
    auto outcome = run_ranks(request(1), [](int) -> int { throw std::runtime_error("no more"); });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->ranks[0].exit_code, 70);
}

TEST(LocalSpawn, runs_programs) {
    const std::string check = "test $RANK -lt $WORLD_SIZE && test $WORLD_SIZE = 3";
    auto good = run_ranks(request(3), std::vector<std::string>{"sh", "-c", check});
    ASSERT_TRUE(good);
    EXPECT_TRUE(good->ok()) << good->summary();
    auto bad = run_ranks(request(1), std::vector<std::string>{"sh", "-c", "exit 9"});
    ASSERT_TRUE(bad);
    EXPECT_EQ(bad->summary(), "rank 0 exited with 9");
    auto missing = run_ranks(request(1), std::vector<std::string>{"duofi-no-such-program"});
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->ranks[0].exit_code, 127);
    EXPECT_FALSE(run_ranks(request(1), std::vector<std::string>{}));
    expect_no_children();
}

TEST(LocalSpawn, what_a_rank_started_goes_with_it) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    auto outcome = run_ranks(request(1), [](int) {
        if (::fork() == 0) wait_for_ever();  // has the write end open, as every descendant
        return 0;
    });
    ::close(ends[1]);
    ASSERT_TRUE(outcome && outcome->ok());
    pollfd end{ends[0], POLLIN, 0};
    ASSERT_EQ(::poll(&end, 1, 10000), 1) << "somebody still holds the write end";
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0);
    ::close(ends[0]);
}

class Forwarding : public ::testing::TestWithParam<int> {};

TEST_P(Forwarding, signals_reach_the_ranks) {
    const int number = GetParam();
    const pid_t self = ::getpid();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    struct sigaction before {};
    ASSERT_EQ(::sigaction(number, nullptr, &before), 0);
    auto outcome = run_ranks(request(2), [&](int rank) {
        // Both ranks are up when rank 1 asks: rank 0 says so through the pipe.
        char byte = 1;
        if (rank == 0 && ::write(ends[1], &byte, 1) == 1) wait_for_ever();
        if (::read(ends[0], &byte, 1) != 1) return 1;
        ::kill(self, number);
        wait_for_ever();
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->forwarded_signal, number);
    EXPECT_FALSE(outcome->ok());
    for (const RankExit& exit : outcome->ranks) {
        EXPECT_EQ(exit.signal_number, number);
        EXPECT_TRUE(exit.stopped_by_us);
    }
    struct sigaction after {};
    ASSERT_EQ(::sigaction(number, nullptr, &after), 0);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
    sigset_t mask;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
    EXPECT_EQ(sigismember(&mask, number), 0);
    ::close(ends[0]);
    ::close(ends[1]);
    expect_no_children();
}

INSTANTIATE_TEST_SUITE_P(signals, Forwarding, ::testing::Values(SIGINT, SIGTERM));

TEST(LocalSpawn, free_ports_can_be_bound) {
    auto first = free_port();
    ASSERT_TRUE(first);
    EXPECT_NE(*first, 0);
}

TEST(LocalSpawn, refuses_no_ranks) {
    EXPECT_EQ(run_ranks(request(0), [](int) { return 0; }).error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace duofi::bootstrap::test
