#include "tools/duofi/statistics.hpp"

#include <gtest/gtest.h>

namespace duofi::tool {
namespace {

TEST(Statistics, gives_order_statistics_of_an_unsorted_odd_sample) {
    const Spread s = spread_of({5, 1, 4, 2, 3});
    EXPECT_DOUBLE_EQ(s.minimum, 1);
    EXPECT_DOUBLE_EQ(s.lower_quartile, 2);
    EXPECT_DOUBLE_EQ(s.median, 3);
    EXPECT_DOUBLE_EQ(s.upper_quartile, 4);
    EXPECT_DOUBLE_EQ(s.maximum, 5);
}

TEST(Statistics, interpolates_in_an_even_sample) {
    const Spread s = spread_of({4, 1, 3, 2});
    EXPECT_DOUBLE_EQ(s.median, 2.5);
    EXPECT_DOUBLE_EQ(s.lower_quartile, 1.75);
    EXPECT_DOUBLE_EQ(s.upper_quartile, 3.25);
}

TEST(Statistics, takes_one_value_and_none) {
    EXPECT_DOUBLE_EQ(spread_of({7}).lower_quartile, 7);
    EXPECT_DOUBLE_EQ(spread_of({7}).maximum, 7);
    EXPECT_DOUBLE_EQ(spread_of({}).median, 0);
}

TEST(Statistics, pairs_by_round_and_leaves_out_division_by_zero) {
    EXPECT_EQ(paired_ratios({2, 9, 6}, {1, 0, 3}), (std::vector<double>{2, 2}));
}

TEST(Statistics, pairing_cancels_a_drift_that_ratios_of_medians_would_show) {
    const std::vector<double> plugin{11, 22, 44, 88}, raw{10, 20, 40, 80};
    const Spread s = spread_of(paired_ratios(plugin, raw));
    EXPECT_DOUBLE_EQ(s.minimum, 1.1);
    EXPECT_DOUBLE_EQ(s.maximum, 1.1);
}

}  // namespace
}  // namespace duofi::tool
