#include "tools/duofi/bench_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace duofi::tool {
namespace {

/// Three rounds in which the machine gets slower and the plugin always needs twice the time.
std::unique_ptr<BenchResult> drifting(Part part = Part::two_sided) {
    auto result = std::make_unique<BenchResult>();
    const std::vector<Cell> cells = bench_cells(part);
    result->part = part;
    result->rounds = 3;
    set_text(result->provider, "made_up");
    for (std::size_t i = 0; i < cells.size(); ++i)
        for (std::uint32_t round = 0; round < 3; ++round)
            result->samples[i][round] = {(is_plugin(cells[i].via) ? 20.0 : 10.0) * (round + 1),
                                         0.99};
    return result;
}

double number(const Record& record, const std::string& name) {
    for (const auto& [key, value] : record)
        if (key == name) return std::get<double>(value);
    ADD_FAILURE() << "no column " << name;
    return 0;
}

TEST(BenchTable, compares_every_yardstick_with_the_plugin_on_the_same_work) {
    const auto result = drifting();
    const std::vector<Record> records = bench_records(*result);
    ASSERT_EQ(records.size(), 9u);  // ping-pong, and four streams with two yardsticks each
    EXPECT_DOUBLE_EQ(number(records[0], "ratio_median"), 2.0);  // latency: twice as slow
    EXPECT_DOUBLE_EQ(number(records[0], "ratio_min"), 2.0);
    EXPECT_DOUBLE_EQ(number(records[0], "ratio_max"), 2.0);
    for (std::size_t i = 1; i < records.size(); ++i)
        EXPECT_DOUBLE_EQ(number(records[i], "ratio_median"), 0.5);  // bandwidth: half of it
}

TEST(BenchTable, compares_each_one_sided_operation_with_its_own_yardstick) {
    const auto result = drifting(Part::one_sided);
    const std::vector<Record> records = bench_records(*result);
    ASSERT_EQ(records.size(), 9u);  // three latencies and three streams of two sizes
    for (std::size_t i = 0; i < records.size(); ++i)
        EXPECT_DOUBLE_EQ(number(records[i], "ratio_median"), i < 3 ? 2.0 : 0.5);
    EXPECT_DOUBLE_EQ(number(records[0], "rma_us_median"), 40.0);
    const std::string rows = bench_rows(*result);
    for (const char* row : {"8 B put                raw write ", "8 B put+signal         raw writedata",
                            "8 B get                raw read", "64 KiB put+signal W=32 raw writedata",
                            "1 MiB get W=32         raw read"})
        EXPECT_NE(rows.find(row), std::string::npos) << row << "\n" << rows;
}

TEST(BenchTable, legend_says_what_a_raw_completion_means) {
    const auto result = drifting(Part::one_sided);
    result->delivery = true;
    EXPECT_NE(bench_header(*result, 2).find("raw: the same (FI_DELIVERY_COMPLETE)"),
              std::string::npos);
    result->delivery = false;
    EXPECT_NE(bench_header(*result, 2).find("delivery is not granted"), std::string::npos);
    EXPECT_EQ(bench_header(*drifting(), 2).find("raw: "), std::string::npos);
}

TEST(BenchTable, turns_time_into_megabytes_per_second) {
    const auto result = drifting();
    const std::vector<Record> records = bench_records(*result);
    EXPECT_DOUBLE_EQ(number(records[1], "raw_mbytes_per_s_max"), 65536 / 10.0);
    EXPECT_DOUBLE_EQ(number(records[0], "net_us_median"), 40.0);
}

TEST(BenchTable, marks_rows_whose_threads_did_not_get_their_cores) {
    auto result = drifting();
    EXPECT_EQ(bench_rows(*result).find('~'), std::string::npos);
    for (auto& sample : result->samples[0]) sample.share = 0.5;
    EXPECT_NE(bench_rows(*result).find("~0.50"), std::string::npos);
}

TEST(BenchTable, lists_every_single_measurement) {
    for (const Part part : {Part::two_sided, Part::one_sided})
        EXPECT_EQ(sample_records(*drifting(part)).size(), 3 * bench_cells(part).size());
}

class BenchPlan : public ::testing::TestWithParam<Part> {};
INSTANTIATE_TEST_SUITE_P(parts, BenchPlan, ::testing::Values(Part::two_sided, Part::one_sided),
                         [](const auto& part) { return to_string(part.param); });

TEST_P(BenchPlan, keeps_buffers_apart_within_the_memory_that_there_is) {
    const std::vector<Cell> cells = bench_cells(GetParam());
    for (const Cell& cell : cells) {
        const std::uint32_t buffers = buffer_count(cell.work);
        ASSERT_GE(buffers, 1u);
        EXPECT_LE(buffers, cell.work.window);
        for (std::uint32_t i = 0; i < buffers; ++i) {
            EXPECT_LE(buffer_offset(cell.work, i) + cell.work.bytes, kBufferBytes);
            EXPECT_EQ(buffer_offset(cell.work, i), std::size_t{i} * cell.work.bytes);
        }
    }
    EXPECT_LE(cells.size(), kMaxCells);
}

TEST_P(BenchPlan, every_yardstick_has_a_plugin_beside_it) {
    const std::vector<Cell> cells = bench_cells(GetParam());
    for (const Cell& cell : cells)
        EXPECT_TRUE(std::ranges::any_of(cells, [&](const Cell& other) {
            return other.via == plugin_side(cell.via) && other.work.shape == cell.work.shape &&
                   other.work.bytes == cell.work.bytes && other.work.window == cell.work.window;
        })) << to_string(cell.via)
            << " " << cell.work.bytes;
}

}  // namespace
}  // namespace duofi::tool
