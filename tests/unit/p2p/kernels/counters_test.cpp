// Counters and their bounds, and how rarely they are looked at (p2p contract 4.2, 4.7, 4.8).
#include "p2p/kernels/counters.hpp"

#include <gtest/gtest.h>

#include "p2p/kernels/shared_memory_access.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::KernelResult;

/// Real memory that counts how often a counter is read.
struct CountingMemory : p2p::HardwareMemory {
    static inline std::uint64_t loads = 0;
    static std::uint64_t load_acquire(std::uint64_t* word) {
        ++loads;
        return HardwareMemory::load_acquire(word);
    }
    template <typename Accept>
    static bool await_acquire(std::uint64_t* word, p2p::Waiter& waiter, std::uint64_t& value,
                              Accept accept) {
        ++loads;
        return HardwareMemory::await_acquire(word, waiter, value, accept);
    }
};

struct Words {
    std::uint64_t head = 0, tail = 0;
};

TEST(Counters, EightStepsOfCreditThenOneMoreForEachReturned) {
    Words words;
    p2p::SendCounters<p2p::HardwareMemory> sender(&words.head, &words.tail, 0);
    for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(sender.has_credit(1));
        sender.publish(1);
    }
    EXPECT_FALSE(sender.has_credit(1));
    words.head = 3;
    EXPECT_TRUE(sender.has_credit(3));
    EXPECT_FALSE(sender.has_credit(4));
    EXPECT_EQ(words.tail, 8U);
}

TEST(Counters, SharedWordsAreReadOncePerWindow) {
    Words words;
    CountingMemory::loads = 0;
    p2p::SendCounters<CountingMemory> sender(&words.head, &words.tail, 0);
    p2p::RecvCounters<CountingMemory> receiver(&words.head, &words.tail, 0);
    constexpr std::uint64_t kWindows = 100;
    for (std::uint64_t window = 0; window < kWindows; ++window) {
        for (int i = 0; i < 8; ++i) {
            ASSERT_TRUE(sender.has_credit(1));
            sender.publish(1);
        }
        for (int i = 0; i < 8; ++i) {
            ASSERT_TRUE(receiver.has_data(1));
            receiver.release(1);
        }
    }
    EXPECT_LE(CountingMemory::loads, 2 * kWindows + 2);
}

TEST(Counters, RoundingSkipsTheSameStepsAtBothEnds_C40) {
    Words words;
    p2p::SendCounters<p2p::HardwareMemory> sender(&words.head, &words.tail, 5);
    words.head = words.tail = 5;
    p2p::RecvCounters<p2p::HardwareMemory> receiver(&words.head, &words.tail, 5);
    sender.round_up(4);
    receiver.round_up(4);
    EXPECT_EQ(sender.step(), 8U);
    EXPECT_EQ(receiver.step(), 8U);
    EXPECT_EQ(words.head, 8U) << "the skipped credits come back at once";
    sender.round_up(4);
    receiver.round_up(1);
    EXPECT_EQ(sender.step(), receiver.step());
}

struct BadValue {
    std::uint64_t step, seen, bad;
};

TEST(Counters, HeadOutsideItsBoundsIsNeverUsed) {
    for (const BadValue& v :
         {BadValue{100, 95, 94}, {100, 95, 104}, {100, 95, ~std::uint64_t{0}}, {100, 95, 0}}) {
        Words words{v.seen, 0};
        p2p::SendCounters<p2p::HardwareMemory> sender(&words.head, &words.tail, v.step);
        words.head = v.bad;
        EXPECT_FALSE(sender.has_credit(8)) << v.bad;
        EXPECT_TRUE(sender.failed()) << v.bad;
        std::uint32_t abort = 0;
        const p2p::KernelContext context = patient_context(&abort);
        p2p::Waiter waiter(context);
        EXPECT_EQ(sender.await_credit(8, waiter), KernelResult::bad_counter) << v.bad;
    }
}

TEST(Counters, TailOutsideItsBoundsIsNeverUsed) {
    for (const BadValue& v :
         {BadValue{100, 98, 97}, {100, 98, 112}, {100, 98, ~std::uint64_t{0}}}) {
        Words words{0, v.seen};
        p2p::RecvCounters<p2p::HardwareMemory> receiver(&words.head, &words.tail, v.step);
        words.tail = v.bad;
        EXPECT_FALSE(receiver.has_data(1)) << v.bad;
        EXPECT_TRUE(receiver.failed()) << v.bad;
        std::uint32_t abort = 0;
        const p2p::KernelContext context = patient_context(&abort);
        p2p::Waiter waiter(context);
        EXPECT_EQ(receiver.await_data(1, waiter), KernelResult::bad_counter) << v.bad;
    }
}

TEST(Counters, TailMayLagAnyDistanceBehindLl) {
    Words words{0, 0};
    p2p::RecvCounters<p2p::HardwareMemory> receiver(&words.head, &words.tail, 1'000'000);
    EXPECT_FALSE(receiver.has_data(1));
    EXPECT_FALSE(receiver.failed());
    words.tail = 1'000'001;
    EXPECT_TRUE(receiver.has_data(1));
}

}  // namespace
}  // namespace duofi::test
