// Keys of memory regions: unique while in use, never 0, never taken from an address (report A12, P3, P7).
#include "common/ofi/key_allocator.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace duofi::ofi {
namespace {

TEST(KeyAllocator, TenThousandAtOnceDiffer) {
    for (const std::size_t bytes : {2U, 3U, 4U, 8U}) {
        KeyAllocator keys(bytes);
        std::set<std::uint64_t> taken;
        for (int i = 0; i < 10000; ++i) {
            std::uint64_t key = 0;
            ASSERT_TRUE(keys.acquire(key));
            ASSERT_NE(key, 0U);
            ASSERT_TRUE(taken.insert(key).second);
            ASSERT_TRUE(bytes == 8 || key < std::uint64_t{1} << (8 * bytes % 64));
        }
        EXPECT_EQ(keys.in_use(), 10000U);
    }
}

TEST(KeyAllocator, InAndOutAtRandomNeverHandsOutAKeyInUse) {
    KeyAllocator keys(2);
    std::mt19937 random(5);
    std::vector<std::uint64_t> order;
    std::set<std::uint64_t> taken;
    for (int i = 0; i < 50000; ++i) {
        if (order.size() < 100 || (random() % 2 == 0 && order.size() < 10000)) {
            std::uint64_t key = 0;
            ASSERT_TRUE(keys.acquire(key));
            ASSERT_TRUE(taken.insert(key).second);
            order.push_back(key);
        } else {
            std::swap(order[random() % order.size()], order.back());
            keys.release(order.back());
            taken.erase(order.back());
            order.pop_back();
        }
        ASSERT_EQ(keys.in_use(), taken.size());
    }
}

TEST(KeyAllocator, AFullKeySpaceEndsAndOpensAgain) {
    KeyAllocator keys(1);
    std::set<std::uint64_t> taken;
    std::uint64_t key = 0;
    for (int i = 0; i < 255; ++i) {
        ASSERT_TRUE(keys.acquire(key)) << i;
        taken.insert(key);
    }
    EXPECT_EQ(taken.size(), 255U);
    EXPECT_EQ(taken.count(0), 0U);
    EXPECT_EQ(*taken.rbegin(), 255U);
    EXPECT_FALSE(keys.acquire(key));
    EXPECT_FALSE(keys.acquire(key));
    keys.release(77);
    ASSERT_TRUE(keys.acquire(key));
    EXPECT_EQ(key, 77U) << "the only one that is free";
    EXPECT_FALSE(keys.acquire(key));
}

TEST(KeyAllocator, TwoAllocatorsDoNotShareTheirSequence) {
    KeyAllocator a(8), b(8);
    std::set<std::uint64_t> all;
    for (int i = 0; i < 1000; ++i) {
        std::uint64_t key = 0;
        ASSERT_TRUE(a.acquire(key));
        all.insert(key);
        ASSERT_TRUE(b.acquire(key));
        all.insert(key);
    }
    EXPECT_EQ(all.size(), 2000U);
}

TEST(KeyAllocator, EveryByteOfTheKeySizeIsUsed) {
    KeyAllocator keys(8);
    std::uint64_t ones = 0, zeros = 0;
    for (int i = 0; i < 200; ++i) {
        std::uint64_t key = 0;
        ASSERT_TRUE(keys.acquire(key));
        ones |= key;
        zeros |= ~key;
    }
    EXPECT_EQ(ones, ~std::uint64_t{0});
    EXPECT_EQ(zeros, ~std::uint64_t{0});
}

}  // namespace
}  // namespace duofi::ofi
