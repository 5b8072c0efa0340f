#include "tools/duofi/pair_channel.hpp"

#include <gtest/gtest.h>

namespace duofi::tool {
namespace {

TEST(PairChannel, carries_values_in_order_and_keeps_their_bounds) {
    auto ends = PairChannel::create();
    ASSERT_TRUE(ends);
    ASSERT_TRUE(ends->first.send_value(1));
    ASSERT_TRUE(ends->first.send_value(2));
    EXPECT_EQ(ends->second.receive_value<int>(Deadline(kSecond)).value_or(0), 1);
    EXPECT_EQ(ends->second.receive_value<int>(Deadline(kSecond)).value_or(0), 2);
}

TEST(PairChannel, refuses_a_value_of_another_size) {
    auto ends = PairChannel::create();
    ASSERT_TRUE(ends);
    ASSERT_TRUE(ends->first.send_value(std::uint16_t{1}));
    EXPECT_FALSE(ends->second.receive_value<std::uint64_t>(Deadline(kSecond)));
}

TEST(PairChannel, tells_that_the_other_end_is_gone) {
    auto ends = PairChannel::create();
    ASSERT_TRUE(ends);
    ends->first.close();
    const auto got = ends->second.receive(Deadline(10 * kSecond));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::remote);
    EXPECT_EQ(ends->second.send_value(1).error().code, Errc::remote);
}

TEST(PairChannel, gives_up_at_the_deadline_and_runs_the_idle_function_until_then) {
    auto ends = PairChannel::create();
    ASSERT_TRUE(ends);
    int calls = 0;
    const auto got = ends->second.receive(Deadline(5 * kMillisecond), [&]() -> Status {
        ++calls;
        return {};
    });
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::timed_out);
    EXPECT_GT(calls, 0);
}

TEST(PairChannel, stops_when_the_idle_function_fails) {
    auto ends = PairChannel::create();
    ASSERT_TRUE(ends);
    const auto got = ends->second.receive(Deadline(kSecond),
                                          []() -> Status { return fail(Errc::system, "network"); });
    ASSERT_FALSE(got);
    EXPECT_STREQ(got.error().place, "network");
}

}  // namespace
}  // namespace duofi::tool
