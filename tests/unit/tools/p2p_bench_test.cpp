// Rows of the shared-memory part of the benchmark from given measurements.
#include "tools/duofi/p2p_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace duofi::tool {
namespace {

P2pCost row(std::uint64_t bytes, bool ping_pong, std::vector<double> own,
            std::vector<double> yardstick) {
    return {P2pPair::processes, bytes, ping_pong, std::move(own), std::move(yardstick)};
}

TEST(P2pBench, LatenciesAreNanosecondsAndRatesAreBytesPerNanosecond) {
    const std::string table = p2p_cost_table(
        {row(8, true, {90, 100, 110}, {50, 50, 50}), row(2'000'000, false, {100'000}, {50'000})});
    EXPECT_NE(table.find("100.00 (90.00-110.00)"), std::string::npos) << table;
    EXPECT_NE(table.find("2.00 (1.80-2.20)"), std::string::npos) << table;
    EXPECT_NE(table.find("20.00 (20.00-20.00)"), std::string::npos) << table;
    EXPECT_NE(table.find("0.50 (0.50-0.50)"), std::string::npos) << table;
}

TEST(P2pBench, CpusThatChangeTheirDistanceAreMarked) {
    const std::string steady = p2p_cost_table({row(8, true, {90, 90}, {50, 60})});
    const std::string unsteady = p2p_cost_table({row(8, true, {90, 300}, {50, 195})});
    EXPECT_EQ(steady.find(" ~"), steady.rfind(" ~")) << "only the legend has the mark";
    EXPECT_NE(unsteady.find("~1.67"), std::string::npos) << unsteady;
}

TEST(P2pBench, OtherLibrariesHaveATableWhereTheyAre) {
    P2pCost one = row(8, true, {100, 110}, {50, 50});
    EXPECT_EQ(p2p_cost_table({one}).find("other libraries"), std::string::npos);
    one.peers_ns = {{"openmpi", {150, 165}}, {"ucx", {200}}};  // the second one failed later
    const std::string table = p2p_cost_table({one});
    EXPECT_NE(table.find("157.50 (150.00-165.00)"), std::string::npos) << table;
    EXPECT_NE(table.find("1.50 (1.50-1.50)"), std::string::npos) << table;
    EXPECT_NE(table.find("2.00 (2.00-2.00)"), std::string::npos) << table;
}

TEST(P2pBench, RecordsSayWhatTheyAre) {
    const std::vector<Record> records =
        p2p_cost_records({row(8, true, {90}, {45}), row(64, false, {32}, {16})});
    ASSERT_EQ(records.size(), 2U);
    const auto value = [](const Record& record, const std::string& name) {
        const auto found = std::ranges::find(record, name, &Record::value_type::first);
        return found == record.end() ? -1.0 : std::get<double>(found->second);
    };
    EXPECT_EQ(value(records[0], "p2p_ns_median"), 90.0);
    EXPECT_EQ(value(records[0], "ratio_median"), 2.0);
    EXPECT_EQ(value(records[1], "p2p_gbytes_per_s_median"), 2.0);
    EXPECT_EQ(value(records[1], "yardstick_gbytes_per_s_median"), 4.0);
}

}  // namespace
}  // namespace duofi::tool
