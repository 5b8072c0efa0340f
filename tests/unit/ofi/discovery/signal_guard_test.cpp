// Architecture 4.14: handlers that appear during our init are put back.
#include "common/ofi/signal_guard.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace duofi::ofi {
namespace {

void ours(int) {}
void theirs(int) {}
void theirs_with_info(int, siginfo_t*, void*) {}

struct sigaction current(int signal) {
    struct sigaction action {};
    EXPECT_EQ(::sigaction(signal, nullptr, &action), 0);
    return action;
}

constexpr int kWatched[] = {SIGHUP,  SIGINT, SIGQUIT, SIGTERM, SIGSEGV, SIGBUS,
                            SIGABRT, SIGFPE, SIGILL,  SIGPIPE, SIGUSR1, SIGSYS};

TEST(SignalGuard, PutsBackHandlersThatAppeared) {
    std::vector<struct sigaction> before;
    for (const int signal : kWatched) before.push_back(current(signal));
    {
        const SignalGuard guard;
        for (const int signal : kWatched) {
            struct sigaction action {};
            action.sa_sigaction = theirs_with_info;
            action.sa_flags = SA_SIGINFO | SA_RESTART;
            ASSERT_EQ(::sigaction(signal, &action, nullptr), 0);
        }
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(current(kWatched[i]).sa_handler, before[i].sa_handler) << kWatched[i];
        constexpr int kSetByTheCLibrary = 0x04000000;  // SA_RESTORER, on every disposition ever set
        EXPECT_EQ(current(kWatched[i]).sa_flags & ~kSetByTheCLibrary,
                  before[i].sa_flags & ~kSetByTheCLibrary)
            << kWatched[i];
    }
}

TEST(SignalGuard, KeepsTheHandlersOfTheHostWithFlagsAndMask) {
    struct sigaction mine {};
    mine.sa_handler = ours;
    mine.sa_flags = SA_RESTART;
    sigaddset(&mine.sa_mask, SIGUSR2);
    struct sigaction old {};
    ASSERT_EQ(::sigaction(SIGTERM, &mine, &old), 0);
    {
        const SignalGuard guard;
        ASSERT_NE(::signal(SIGTERM, theirs), SIG_ERR);
    }
    const struct sigaction after = current(SIGTERM);
    EXPECT_EQ(after.sa_handler, ours);
    EXPECT_NE(after.sa_flags & SA_RESTART, 0);
    EXPECT_EQ(sigismember(&after.sa_mask, SIGUSR2), 1);
    ASSERT_EQ(::sigaction(SIGTERM, &old, nullptr), 0);
}

TEST(SignalGuard, IgnoredStaysIgnored) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    struct sigaction old {};
    ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &old), 0);
    {
        const SignalGuard guard;
        ASSERT_NE(::signal(SIGPIPE, SIG_DFL), SIG_ERR);
    }
    EXPECT_EQ(current(SIGPIPE).sa_handler, SIG_IGN);
    ASSERT_EQ(::sigaction(SIGPIPE, &old, nullptr), 0);
}

}  // namespace
}  // namespace duofi::ofi
