// Results of `duofi bench` as table, CSV and JSON. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tools/duofi/bench_plan.hpp"
#include "tools/duofi/output.hpp"

namespace duofi::tool {

[[nodiscard]] std::string bench_header(const BenchResult& result, int cores);
/// One row per yardstick and workload: medians with ranges, paired ratio with quartiles and range.
[[nodiscard]] std::string bench_rows(const BenchResult& result);
/// The rows of bench_rows as records.
[[nodiscard]] std::vector<Record> bench_records(const BenchResult& result);
/// Every single measurement.
[[nodiscard]] std::vector<Record> sample_records(const BenchResult& result);

}  // namespace duofi::tool
