// Slots whose address a caller keeps: readable after their end, used again late and in order.
#include "common/util/handle_slab.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace duofi {
namespace {

struct Slot {
    unsigned magic = 0;
};

TEST(HandleSlab, AReleasedSlotRestsForTheReuseDistance) {
    HandleSlab<Slot, 8> slab;
    Slot* first = slab.acquire();
    slab.release(first);
    std::vector<Slot*> others;
    for (int i = 0; i < 8; ++i) {
        Slot* slot = slab.acquire();
        EXPECT_NE(slot, first) << i;
        others.push_back(slot);
        slab.release(slot);
    }
    EXPECT_EQ(slab.acquire(), first) << "the oldest comes first";
    EXPECT_NE(slab.acquire(), others[0]) << "eight must rest";
}

TEST(HandleSlab, TheOrderOfReuseIsTheOrderOfRelease) {
    HandleSlab<Slot, 4> slab;
    std::vector<Slot*> slots;
    for (int i = 0; i < 20; ++i) slots.push_back(slab.acquire());
    EXPECT_EQ(slab.in_use(), 20U);
    std::reverse(slots.begin(), slots.end());
    for (Slot* slot : slots) slab.release(slot);
    EXPECT_EQ(slab.in_use(), 0U);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(slab.acquire(), slots[static_cast<std::size_t>(i)]) << i;
}

TEST(HandleSlab, AnEndedSlotKeepsItsContentUntilItIsUsedAgain) {
    HandleSlab<Slot> slab;
    Slot* slot = slab.acquire();
    slot->magic = 0xdead;
    slab.release(slot);
    for (int i = 0; i < 64; ++i) slab.release(slab.acquire());
    EXPECT_EQ(slot->magic, 0xdeadU);
}

TEST(HandleSlab, DoesNotGrowUnderSteadyUse) {
    HandleSlab<Slot, 64> slab;
    std::set<Slot*> seen;
    for (int i = 0; i < 10000; ++i) {
        Slot* slot = slab.acquire();
        seen.insert(slot);
        slab.release(slot);
    }
    EXPECT_LE(seen.size(), 65U);
}

TEST(HandleSlab, ThreadsGetDifferentSlots) {
    HandleSlab<Slot> slab;
    const auto work = [&] {
        for (int i = 0; i < 5000; ++i) {
            Slot* slot = slab.acquire();
            const unsigned before = slot->magic++;
            EXPECT_EQ(slot->magic, before + 1);
            slab.release(slot);
        }
    };
    std::thread first(work), second(work);
    first.join();
    second.join();
    EXPECT_EQ(slab.in_use(), 0U);
}

}  // namespace
}  // namespace duofi
