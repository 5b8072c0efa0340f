// The pauses of blocking control calls: first none, then longer ones, never long (T-5).
#include "rma_plugin/pause.hpp"

#include <gtest/gtest.h>

namespace duofi::rma {
namespace {

TEST(Pause, begins_by_letting_others_run_and_then_sleeps) {
    Pause pause;
    const Nanoseconds begin = now_ns();
    for (int i = 0; i < 50; ++i) pause.next();
    // Sleeps of 20, 40, ... us: these alone take 620 us, however fast the machine is.
    const Nanoseconds slept_from = now_ns();
    for (int i = 0; i < 5; ++i) pause.next();
    EXPECT_GE(now_ns() - slept_from, 620 * kMicrosecond);
    EXPECT_LT(now_ns() - begin, 2 * kSecond);
}

TEST(Pause, grows_to_about_a_millisecond) {
    Pause pause;
    for (int i = 0; i < 65; ++i) pause.next();
    Nanoseconds shortest = kSecond, begin = now_ns();
    for (int i = 0; i < 10; ++i) {
        pause.next();
        const Nanoseconds now = now_ns();
        shortest = std::min(shortest, now - begin);
        begin = now;
    }
    EXPECT_GE(shortest, kMillisecond);
    EXPECT_LT(shortest, 50 * kMillisecond) << "the shortest of ten, so that a busy machine does not matter";
}

}  // namespace
}  // namespace duofi::rma
