#include "common/util/slot_pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace duofi {
namespace {

struct Pinned {
    int value = 0;
    Pinned() = default;
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
};

TEST(SlotPool, LendsEachSlotOnceUntilFull) {
    SlotPool<Pinned> pool(4);
    std::set<Pinned*> lent;
    for (int i = 0; i < 4; ++i) lent.insert(pool.acquire());
    EXPECT_EQ(lent.size(), 4u);
    EXPECT_FALSE(lent.contains(nullptr));
    EXPECT_TRUE(pool.full());
    EXPECT_EQ(pool.acquire(), nullptr);
    EXPECT_EQ(pool.in_use(), 4u);
}

TEST(SlotPool, ReleasedSlotComesBackAtTheSameAddress) {
    SlotPool<Pinned> pool(3);
    Pinned* first = pool.acquire();
    (void)pool.acquire();
    first->value = 5;
    EXPECT_TRUE(pool.release(first));
    EXPECT_EQ(pool.acquire(), first);
    EXPECT_EQ(first->value, 5);
}

TEST(SlotPool, HandleGoesStaleWithRelease) {
    SlotPool<Pinned> pool(2);
    Pinned* object = pool.acquire();
    const auto handle = pool.handle_of(object);
    EXPECT_EQ(pool.find(handle), object);
    pool.release(object);
    EXPECT_EQ(pool.find(handle), nullptr);
    ASSERT_EQ(pool.acquire(), object);
    EXPECT_EQ(pool.find(handle), nullptr);
    EXPECT_NE(pool.handle_of(object), handle);
}

TEST(SlotPool, RefusesWhatItDidNotLend) {
    SlotPool<Pinned> pool(2);
    SlotPool<Pinned> other(2);
    Pinned* object = pool.acquire();
    Pinned* foreign = other.acquire();
    EXPECT_FALSE(pool.release(foreign));
    EXPECT_FALSE(pool.release(nullptr));
    EXPECT_FALSE(pool.lent(reinterpret_cast<char*>(object) + 1));
    EXPECT_FALSE(pool.lent(reinterpret_cast<void*>(~std::uintptr_t{0})));
    EXPECT_TRUE(pool.release(object));
    EXPECT_FALSE(pool.release(object));
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.find({}), nullptr);
    EXPECT_EQ(pool.find({99, 1}), nullptr);
    EXPECT_EQ(pool.handle_of(object), SlotPool<Pinned>::Handle{});
}

TEST(SlotPool, EmptyPoolHasNothing) {
    SlotPool<Pinned> pool(0);
    Pinned stray;
    EXPECT_EQ(pool.acquire(), nullptr);
    EXPECT_FALSE(pool.release(&stray));
    EXPECT_TRUE(pool.full());
}

TEST(SlotPool, VisitsLentSlotsAndAllowsTheirRelease) {
    SlotPool<Pinned> pool(5);
    std::vector<Pinned*> lent;
    for (int i = 0; i < 5; ++i) lent.push_back(pool.acquire());
    pool.release(lent[1]);
    pool.release(lent[3]);
    int seen = 0;
    pool.for_each_lent([&](Pinned& object) {
        ++seen;
        EXPECT_TRUE(pool.release(&object));
    });
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(SlotPool, KeepsAlignment) {
    struct alignas(64) Line {
        char bytes[40] = {};
    };
    SlotPool<Line> pool(3);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.acquire()) % 64, 0u);
}

}  // namespace
}  // namespace duofi
