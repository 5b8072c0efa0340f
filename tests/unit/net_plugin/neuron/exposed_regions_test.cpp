// What of a domain peers may reach. Units: common/ofi/exposed_regions.
#include "common/ofi/exposed_regions.hpp"

#include <gtest/gtest.h>

namespace duofi::ofi {
namespace {

TEST(ExposedRegions, a_key_is_known_until_it_was_removed_as_often) {
    ExposedRegions regions;
    EXPECT_TRUE(regions.empty());
    regions.add(7, {0x1000, 64});
    regions.add(7, {0x1000, 64});
    regions.remove(7);
    ASSERT_TRUE(regions.find(7).has_value());
    EXPECT_EQ(regions.find(7)->address, 0x1000u);
    EXPECT_EQ(regions.find(7)->length, 64u);
    EXPECT_FALSE(regions.empty());
    regions.remove(7);
    EXPECT_FALSE(regions.find(7).has_value());
    EXPECT_TRUE(regions.empty());
}

TEST(ExposedRegions, keys_do_not_disturb_each_other) {
    ExposedRegions regions;
    regions.add(0, {0x1000, 1});
    regions.add(~std::uint64_t{0}, {0x2000, 2});
    regions.remove(5);
    regions.remove(0);
    EXPECT_FALSE(regions.find(0).has_value());
    EXPECT_EQ(regions.find(~std::uint64_t{0})->address, 0x2000u);
    EXPECT_FALSE(regions.empty());
}

}  // namespace
}  // namespace duofi::ofi
