// Rings, credits and half-written descriptors (rma contract 4.1, 4.3).
#include "common/gin/queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "common/util/clock.hpp"

namespace duofi::gin {
namespace {

PackedDescriptor numbered(std::uint64_t number) {
    Descriptor d;
    d.op = op_put;
    d.src_offset = number;
    return pack(d);
}

TEST(Queue, depth_is_configured_only_within_the_callers_bounds) {
    EXPECT_EQ(queue_depth(-1, 1), 32U);
    EXPECT_EQ(queue_depth(-1, 8), 256U);
    EXPECT_EQ(queue_depth(1, 1), 1U);
    EXPECT_EQ(queue_depth(32, 1), 32U);
    EXPECT_EQ(queue_depth(64, 1), 32U) << "more than 32 * maxRecvs";
    EXPECT_EQ(queue_depth(48, 8), 256U) << "no power of two";
    EXPECT_EQ(queue_depth(0, 2), 64U);
}

TEST(Queue, credit_ends_one_depth_ahead_of_what_was_consumed) {
    Queues rings(2, 4);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(rings.has_credit(1, rings.reserve(1)));
    const std::uint32_t fifth = rings.reserve(1);
    EXPECT_FALSE(rings.has_credit(1, fifth));
    EXPECT_TRUE(rings.has_credit(0, rings.reserve(0))) << "rings are independent";
    rings.publish_consumed(1, 1);
    EXPECT_TRUE(rings.has_credit(1, fifth));
    EXPECT_FALSE(rings.has_credit(1, fifth + 1));
}

TEST(Queue, indices_wrap) {
    EXPECT_TRUE(before(0xFFFFFFFF, 0));
    EXPECT_FALSE(before(0, 0xFFFFFFFF));
    EXPECT_FALSE(before(5, 5));
}

TEST(Queue, a_taken_slot_is_zeroed_and_reusable) {
    Queues rings(1, 1);
    for (std::uint64_t round = 0; round < 5; ++round) {
        const std::uint32_t index = rings.reserve(0);
        ASSERT_TRUE(rings.has_credit(0, index));
        EXPECT_FALSE(rings.is_written(0, index));
        rings.write(0, index, numbered(round));
        ASSERT_TRUE(rings.is_written(0, index));
        PackedDescriptor got;
        ASSERT_TRUE(rings.take(0, index, got));
        EXPECT_EQ(got, numbered(round));
        EXPECT_FALSE(rings.is_written(0, index));
        rings.publish_consumed(0, index + 1);
    }
}

TEST(Queue, a_descriptor_with_a_missing_word_is_not_taken) {
    for (std::size_t missing = 1; missing < kDescriptorWords; ++missing) {
        Queues rings(1, 2);
        PackedDescriptor torn = numbered(7);
        torn.words[missing] = 0;
        rings.write(0, 0, torn);
        PackedDescriptor got;
        EXPECT_TRUE(rings.is_written(0, 0));
        EXPECT_FALSE(rings.take(0, 0, got)) << "word " << missing;
        EXPECT_TRUE(rings.is_written(0, 0)) << "nothing was zeroed";
        rings.write(0, 0, numbered(7));
        ASSERT_TRUE(rings.take(0, 0, got));
        EXPECT_EQ(got, numbered(7));
    }
}

/// Two producers and one consumer over a small ring: nothing is lost, doubled or torn.
TEST(Queue, producers_and_a_consumer_in_parallel) {
    constexpr std::uint64_t kEach = 5000;
    Queues rings(1, 4);
    std::atomic<bool> failed{false};
    const auto produce = [&](std::uint64_t base) {
        const Deadline deadline(30 * kSecond);
        for (std::uint64_t i = 0; i < kEach; ++i) {
            const std::uint32_t index = rings.reserve(0);
            while (!rings.has_credit(0, index)) {
                if (deadline.passed()) failed = true;
                if (failed) return;
                std::this_thread::yield();
            }
            rings.write(0, index, numbered(base + i));
        }
    };
    std::array<std::thread, 2> producers{std::thread(produce, 0),
                                         std::thread(produce, std::uint64_t{1} << 32)};
    std::array<std::uint64_t, 2> next{};
    const Deadline deadline(30 * kSecond);
    for (std::uint32_t index = 0; index < 2 * kEach && !failed; ++index) {
        PackedDescriptor got;
        while (!rings.take(0, index, got)) {
            if (deadline.passed()) failed = true;
            if (failed) break;
            std::this_thread::yield();
        }
        const std::uint64_t number = unpack(got).src_offset;
        std::uint64_t& expected = next[number >> 32];
        if ((number & 0xFFFFFFFF) != expected++) failed = true;
        rings.publish_consumed(0, index + 1);
    }
    for (std::thread& producer : producers) producer.join();
    EXPECT_FALSE(failed);
    EXPECT_EQ(next[0] + next[1], 2 * kEach);
}

TEST(Queue, maxima_of_gets_only_grow) {
    Queues rings(1, 4);
    rings.note_get(0, 5);
    rings.note_get(0, 3);
    EXPECT_EQ(rings.last_get(0), 5U);
    rings.note_visible(0, 4);
    rings.note_visible(0, 2);
    EXPECT_EQ(rings.last_visible(0), 4U);
}

}  // namespace
}  // namespace duofi::gin
