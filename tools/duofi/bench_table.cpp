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
    Spread raw_value, net_value;  ///< us for a ping-pong, MB/s for a stream
    Spread ratio;                 ///< plugin / raw, by round
    double share = 0;             ///< median of the lower share of each round
};

bool is_latency(const Workload& work) {
    return work.shape == Shape::ping_pong;
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

Comparison compare(const BenchResult& result, std::size_t raw, std::size_t net, const Cell& cell) {
    const std::vector<double> raw_values = values_of(result, raw, cell.work);
    const std::vector<double> net_values = values_of(result, net, cell.work);
    std::vector<double> shares;
    for (std::uint32_t round = 0; round < result.rounds; ++round)
        shares.push_back(
            std::min(result.samples[raw][round].share, result.samples[net][round].share));
    return {cell.work,
            cell.via,
            spread_of(raw_values),
            spread_of(net_values),
            spread_of(paired_ratios(net_values, raw_values)),
            spread_of(shares).median};
}

bool same_work(const Workload& a, const Workload& b) {
    return a.shape == b.shape && a.bytes == b.bytes && a.window == b.window;
}

std::vector<Comparison> comparisons(const BenchResult& result) {
    std::vector<Comparison> list;
    const std::vector<Cell> cells = bench_cells();
    for (std::size_t raw = 0; raw < cells.size(); ++raw) {
        if (cells[raw].via == Via::net) continue;
        for (std::size_t net = 0; net < cells.size(); ++net)
            if (cells[net].via == Via::net && same_work(cells[raw].work, cells[net].work))
                list.push_back(compare(result, raw, net, cells[raw]));
    }
    return list;
}

std::string work_text(const Workload& work) {
    const std::string size = size_text(work.bytes);
    return is_latency(work) ? size + " ping-pong"
                            : fmt::format("{} stream W={}", size, work.window);
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
            {"shape", std::string(is_latency(work) ? "ping_pong" : "stream")},
            {"bytes", std::uint64_t{work.bytes}},
            {"window", std::uint64_t{work.window}},
            {"via", std::string(to_string(via))}};
}

}  // namespace

std::string bench_header(const BenchResult& result, int cores) {
    return fmt::format(
        "# {} {} bench: two processes, {} cores, {} rounds in alternating order\n"
        "# provider {}  domain {}  device {}  table v6\n# library {}\n"
        "# ping-pong: half a round trip, us (lower is better); stream: MB/s, 10^6 bytes per "
        "second\n"
        "# cells: median (min-max); ratio: plugin / plain libfabric of the same round, median\n"
        "# [quartiles] (min-max); share: part of a core that the slower-served thread got, ~ below "
        "{}\n# {} bytes compared before timing, 0 wrong\n#\n",
        kPackageName, kVersion, cores, result.rounds, result.provider.data(), result.domain.data(),
        result.device.data(), result.library.data(), kCleanShare, result.checked_bytes);
}

std::string bench_rows(const BenchResult& result) {
    const Table table({{"workload", "", 18, true},
                       {"yardstick", "", 13, true},
                       {"unit", "", 5, true},
                       {"plain libfabric", "", 24},
                       {"net table", "", 24},
                       {"ratio", "", 38},
                       {"share", "", 6}});
    std::string out = table.header();
    for (const Comparison& c : comparisons(result))
        out += table.row({work_text(c.work), to_string(c.raw), is_latency(c.work) ? "us" : "MB/s",
                          range_text(c.raw_value), range_text(c.net_value),
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
        add_spread(record, "net" + unit, c.net_value);
        add_spread(record, "ratio", c.ratio);
        record.emplace_back("cpu_share_median", c.share);
        records.push_back(std::move(record));
    }
    return records;
}

std::vector<Record> sample_records(const BenchResult& result) {
    std::vector<Record> records;
    const std::vector<Cell> cells = bench_cells();
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
