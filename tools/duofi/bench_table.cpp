#include "tools/duofi/bench_table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/util/version.hpp"
#include "tools/duofi/statistics.hpp"
#include "tools/duofi/table.hpp"

namespace duofi::tool {
namespace {

/// A yardstick and the plugin on the same workload.
struct Comparison {
    Workload work;
    Via raw = Via::tagged;
    Spread raw_value, own_value;  ///< MB/s for a stream, else us
    Spread ratio;                 ///< plugin / raw, by round
    double share = 0;             ///< median of the lower share of each round
};

bool is_latency(const Workload& work) {
    return work.shape != Shape::stream;
}

double value_of(const Workload& work, const Sample& sample) {
    if (is_latency(work)) return sample.microseconds;
    return sample.microseconds > 0 ? work.bytes / sample.microseconds : 0;  // bytes per us = MB/s
}

std::vector<double> values_of(const BenchResult& result, std::size_t index, const Workload& work) {
    std::vector<double> values;
    for (std::uint32_t round = 0; round < result.rounds; ++round)
        values.push_back(value_of(work, result.samples[index][round]));
    return values;
}

Comparison compare(const BenchResult& result, std::size_t raw, std::size_t own, const Cell& cell) {
    const std::vector<double> raw_values = values_of(result, raw, cell.work);
    const std::vector<double> own_values = values_of(result, own, cell.work);
    std::vector<double> shares;
    for (std::uint32_t round = 0; round < result.rounds; ++round)
        shares.push_back(
            std::min(result.samples[raw][round].share, result.samples[own][round].share));
    return {cell.work,
            cell.via,
            spread_of(raw_values),
            spread_of(own_values),
            spread_of(paired_ratios(own_values, raw_values)),
            spread_of(shares).median};
}

bool same_work(const Workload& a, const Workload& b) {
    return a.shape == b.shape && a.bytes == b.bytes && a.window == b.window;
}

std::vector<Comparison> comparisons(const BenchResult& result) {
    std::vector<Comparison> list;
    const std::vector<Cell> cells = bench_cells(result.part);
    for (std::size_t raw = 0; raw < cells.size(); ++raw) {
        if (is_plugin(cells[raw].via)) continue;
        const Via beside = plugin_side(cells[raw].via);
        for (std::size_t own = 0; own < cells.size(); ++own)
            if (cells[own].via == beside && same_work(cells[raw].work, cells[own].work))
                list.push_back(compare(result, raw, own, cells[raw]));
    }
    return list;
}

const char* operation_of(Via raw) {
    switch (plugin_side(raw)) {
        case Via::rma_put:
            return "put";
        case Via::rma_put_signal:
            return "put+signal";
        case Via::rma_get:
            return "get";
        default:
            return "";
    }
}

std::string work_text(const Workload& work, Via raw) {
    const std::string size = size_text(work.bytes) + " ";
    const std::string operation = operation_of(raw);
    if (operation.empty())
        return is_latency(work) ? size + "ping-pong" : fmt::format("{}stream W={}", size, work.window);
    return is_latency(work) ? size + operation
                            : fmt::format("{}{} W={}", size, operation, work.window);
}

const char* shape_text(Shape shape) {
    switch (shape) {
        case Shape::ping_pong:
            return "ping_pong";
        case Shape::single:
            return "single";
        case Shape::stream:
            return "stream";
    }
    return "";
}

std::string range_text(const Spread& s) {
    const int digits = s.median < 100 ? 2 : 0;
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", s.median, digits, s.minimum, digits, s.maximum,
                       digits);
}

void add_spread(Record& record, const std::string& name, const Spread& s) {
    record.emplace_back(name + "_min", s.minimum);
    record.emplace_back(name + "_q1", s.lower_quartile);
    record.emplace_back(name + "_median", s.median);
    record.emplace_back(name + "_q3", s.upper_quartile);
    record.emplace_back(name + "_max", s.maximum);
}

Record work_record(const BenchResult& result, const Workload& work, Via via) {
    return {{"provider", std::string(result.provider.data())},
            {"device", std::string(result.device.data())},
            {"part", std::string(to_string(result.part))},
            {"shape", std::string(shape_text(work.shape))},
            {"bytes", std::uint64_t{work.bytes}},
            {"window", std::uint64_t{work.window}},
            {"via", std::string(to_string(via))}};
}

constexpr char kTwoSidedLegend[] =
    "# ping-pong: half a round trip, us (lower is better); stream: MB/s, 10^6 bytes per second\n";

std::string one_sided_legend(const BenchResult& result) {
    return fmt::format(
        "# 8 B put, get: from the call to its completion; 8 B put+signal: half a ping-pong, each "
        "side waits\n"
        "# for the other's signal; us (lower is better). W=32: stream, MB/s, 10^6 bytes per second,\n"
        "# until the last operation is complete\n"
        "# put against fi_writemsg, put+signal against the same with remote CQ data, get against "
        "fi_read;\n"
        "# completion of a put: RMA table: applied at the target; raw: {}\n"
        "# the target's thread polls all the time, raw with fi_cq_read, RMA table with "
        "rmaProgress\n",
        result.delivery ? "the same (FI_DELIVERY_COMPLETE)"
                        : "as the provider has it, delivery is not granted");
}

}  // namespace

std::string bench_header(const BenchResult& result, int cores) {
    const bool one_sided = result.part == Part::one_sided;
    return fmt::format(
        "# {} {} bench: {}, two processes, {} cores, {} rounds in alternating order\n"
        "# provider {}  domain {}  device {}  table v{}{}\n# library {}\n{}"
        "# cells: median (min-max); ratio: plugin / plain libfabric of the same round, median\n"
        "# [quartiles] (min-max); share: part of a core that the slower-served thread got, ~ below "
        "{}\n# {} bytes compared before timing, 0 wrong\n#\n",
        kPackageName, kVersion, one_sided ? "one-sided operations" : "messages", cores,
        result.rounds, result.provider.data(), result.domain.data(), result.device.data(),
        result.table_version,
        one_sided ? "" : fmt::format("  protocol {}", result.protocol.data()), result.library.data(),
        one_sided ? one_sided_legend(result) : kTwoSidedLegend, kCleanShare, result.checked_bytes);
}

std::string bench_rows(const BenchResult& result) {
    const Table table({{"workload", "", 22, true},
                       {"yardstick", "", 13, true},
                       {"unit", "", 5, true},
                       {"plain libfabric", "", 24},
                       {result.part == Part::one_sided ? "RMA table" : "net table", "", 24},
                       {"ratio", "", 38},
                       {"share", "", 6}});
    std::string out = table.header();
    for (const Comparison& c : comparisons(result))
        out += table.row({work_text(c.work, c.raw), to_string(c.raw), is_latency(c.work) ? "us" : "MB/s",
                          range_text(c.raw_value), range_text(c.own_value),
                          fmt::format("{:.2f} [{:.2f}-{:.2f}] ({:.2f}-{:.2f})", c.ratio.median,
                                      c.ratio.lower_quartile, c.ratio.upper_quartile,
                                      c.ratio.minimum, c.ratio.maximum),
                          fmt::format("{}{:.2f}", c.share < kCleanShare ? "~" : "", c.share)});
    return out;
}

std::vector<Record> bench_records(const BenchResult& result) {
    std::vector<Record> records;
    for (const Comparison& c : comparisons(result)) {
        Record record = work_record(result, c.work, c.raw);
        record.emplace_back("rounds", std::uint64_t{result.rounds});
        const std::string unit = is_latency(c.work) ? "_us" : "_mbytes_per_s";
        add_spread(record, "raw" + unit, c.raw_value);
        add_spread(record, (result.part == Part::one_sided ? "rma" : "net") + unit, c.own_value);
        add_spread(record, "ratio", c.ratio);
        record.emplace_back("cpu_share_median", c.share);
        records.push_back(std::move(record));
    }
    return records;
}

std::vector<Record> sample_records(const BenchResult& result) {
    std::vector<Record> records;
    const std::vector<Cell> cells = bench_cells(result.part);
    for (std::uint32_t round = 0; round < result.rounds; ++round) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const Sample& sample = result.samples[i][round];
            Record record = work_record(result, cells[i].work, cells[i].via);
            record.emplace_back("round", std::uint64_t{round});
            record.emplace_back("time_us", sample.microseconds);
            record.emplace_back("bw_mbytes_per_s",
                                is_latency(cells[i].work) ? 0.0 : value_of(cells[i].work, sample));
            record.emplace_back("cpu_share", sample.share);
            records.push_back(std::move(record));
        }
    }
    return records;
}

}  // namespace duofi::tool
