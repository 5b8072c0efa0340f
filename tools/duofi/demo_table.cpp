#include "tools/duofi/demo_table.hpp"

#include <fmt/core.h>

#include <utility>

#include "tools/duofi/report.hpp"
#include "tools/duofi/table.hpp"

namespace duofi::tool {
namespace {

Table columns() {
    return Table({{"size", "B", 12},
                  {"count", "elements", 12},
                  {"type", "", 8},
                  {"time", "us", 12},
                  {"algbw", "GB/s", 9},
                  {"busbw", "GB/s", 9},
                  {"#wrong", "bytes", 8}});
}

Record record(const DemoRow& row) {
    return {{"provider", row.provider},
            {"table", row.table},
            {"ranks", std::int64_t{row.ranks}},
            {"bytes", row.bytes},
            {"iterations", std::uint64_t{row.iterations}},
            {"time_us_mean", row.time_us},
            {"time_us_slowest_rank", row.slowest_time_us},
            {"algbw_gbytes_per_s", row.algbw},
            {"busbw_gbytes_per_s", row.busbw},
            {"checked_bytes", row.checked_bytes},
            {"wrong_bytes", row.wrong_bytes}};
}

}  // namespace

void DemoTable::begin(const std::string& text) const {
    if (form_ == Form::table) print_result(text + columns().header());
}

void DemoTable::add(const DemoRow& row) {
    rows_.push_back(row);
    if (form_ == Form::json) return print_result(json_line("demo", record(row)));
    if (form_ == Form::csv) {
        const Record values = record(row);
        const std::string header = std::exchange(csv_header_due_, false) ? csv_header(values) : "";
        return print_result(header + csv_row(values));
    }
    print_result(columns().row(
        {fmt::format("{}", row.bytes), fmt::format("{}", row.count > 0 ? row.count : row.bytes),
         row.type, fmt::format("{:.2f}", row.time_us), fmt::format("{:.3f}", row.algbw),
         fmt::format("{:.3f}", row.busbw), fmt::format("{}", row.wrong_bytes)}));
}

DemoSums DemoTable::sums() const {
    DemoSums sums;
    for (const DemoRow& row : rows_) {
        sums.checked_bytes += row.checked_bytes;
        sums.wrong_bytes += row.wrong_bytes;
    }
    return sums;
}

void DemoTable::end(int ranks) const {
    if (form_ != Form::table) return;
    const DemoSums total = sums();
    double busbw = 0;
    for (const DemoRow& row : rows_) busbw += row.busbw;
    const char* verdict = total.ok() ? "OK" : "FAILED";
    print_result(fmt::format(
        "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.4f}\n"
        "#\n# {} bytes checked on {} ranks: {}\n",
        total.wrong_bytes, verdict, rows_.empty() ? 0.0 : busbw / static_cast<double>(rows_.size()),
        total.checked_bytes, ranks, verdict));
}

void print_demo_end(Form form, const DemoSums& sums) {
    if (form != Form::json) return;
    print_result(json_line("demo_end", {{"checked_bytes", sums.checked_bytes},
                                        {"wrong_bytes", sums.wrong_bytes},
                                        {"ok", sums.ok()}}));
}

}  // namespace duofi::tool
