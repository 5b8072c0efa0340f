#include "common/util/interval_map.hpp"

#include <gtest/gtest.h>

namespace duofi {
namespace {

using Map = IntervalMap<int>;

int covering(Map& map, std::uintptr_t address, std::size_t length) {
    const int* found = map.find_covering(address, length);
    return found != nullptr ? *found : -1;
}

TEST(IntervalMap, CoversWholeRangesOnly) {
    Map map;
    ASSERT_TRUE(map.insert(100, 50, 1));
    EXPECT_EQ(covering(map, 100, 50), 1);
    EXPECT_EQ(covering(map, 149, 1), 1);
    EXPECT_EQ(covering(map, 99, 1), -1);
    EXPECT_EQ(covering(map, 149, 2), -1);
    EXPECT_EQ(covering(map, 150, 1), -1);
}

// Two small buffers of one page: each lookup finds the one that covers it (report A13).
TEST(IntervalMap, NeighboursInOnePageAreDistinct) {
    Map map;
    map.insert(4096, 100, 1);
    map.insert(4296, 100, 2);
    EXPECT_EQ(covering(map, 4096, 100), 1);
    EXPECT_EQ(covering(map, 4296, 100), 2);
    EXPECT_EQ(covering(map, 4190, 20), -1);
    EXPECT_TRUE(map.erase(4096, 100, 1));
    EXPECT_EQ(covering(map, 4296, 100), 2);
    EXPECT_EQ(covering(map, 4096, 1), -1);
}

TEST(IntervalMap, NestedRangesFallBackToTheOuterOne) {
    Map map;
    map.insert(0x1000, 0x10000, 1);
    for (int i = 0; i < 8; ++i)
        map.insert(0x2000 + 0x100 * static_cast<std::uintptr_t>(i), 0x80, 10 + i);
    EXPECT_EQ(covering(map, 0x2700, 0x1000), 1);
    EXPECT_EQ(covering(map, 0x2080, 0x10), 1);
    ASSERT_TRUE(map.erase(0x1000, 0x10000, 1));
    EXPECT_EQ(covering(map, 0x2700, 0x80), 17);
    EXPECT_EQ(covering(map, 0x2080, 0x10), -1);
}

TEST(IntervalMap, RepeatedRangesAreKeptApartByValue) {
    Map map;
    map.insert(10, 5, 1);
    map.insert(10, 5, 2);
    EXPECT_EQ(map.size(), 2u);
    EXPECT_FALSE(map.erase(10, 5, 3));
    EXPECT_FALSE(map.erase(10, 4, 1));
    EXPECT_TRUE(map.erase(10, 5, 1));
    EXPECT_EQ(covering(map, 10, 5), 2);
    EXPECT_TRUE(map.erase(10, 5, 2));
    EXPECT_TRUE(map.empty());
    EXPECT_EQ(covering(map, 10, 5), -1);
}

TEST(IntervalMap, RefusesEmptyAndWrappingRanges) {
    Map map;
    EXPECT_FALSE(map.insert(100, 0, 1));
    EXPECT_FALSE(map.insert(~std::uintptr_t{0} - 10, 100, 1));
    EXPECT_FALSE(map.insert(100, ~std::size_t{0}, 1));
    EXPECT_EQ(map.size(), 0u);
    map.insert(0x1000, 0x1000, 1);
    EXPECT_EQ(covering(map, 0x1800, ~std::size_t{0}), -1);
}

TEST(IntervalMap, ZeroLengthAsksForAPoint) {
    Map map;
    map.insert(100, 10, 1);
    EXPECT_EQ(covering(map, 100, 0), 1);
    EXPECT_EQ(covering(map, 110, 0), 1);
    EXPECT_EQ(covering(map, 111, 0), -1);
    EXPECT_EQ(covering(map, 99, 0), -1);
}

}  // namespace
}  // namespace duofi
