// Rows of the shared-memory part of `duofi bench`.
#include <fmt/core.h>

#include <algorithm>

#include "tools/duofi/p2p_bench.hpp"
#include "tools/duofi/statistics.hpp"
#include "tools/duofi/table.hpp"

namespace duofi::tool {
namespace {

const char* text_of(P2pPair pair) {
    return pair == P2pPair::processes ? "processes" : "threads";
}

/// ns for round trips, GB/s otherwise.
std::vector<double> values_of(const P2pCost& row, const std::vector<double>& nanoseconds) {
    if (row.ping_pong) return nanoseconds;
    std::vector<double> values;
    for (const double ns : nanoseconds)
        values.push_back(ns > 0 ? static_cast<double>(row.bytes) / ns : 0);
    return values;
}

std::string range_text(const Spread& s) {
    return fmt::format("{:.2f} ({:.2f}-{:.2f})", s.median, s.minimum, s.maximum);
}

struct Summary {
    Spread own, yardstick, ratio;
};

Summary summary_of(const P2pCost& row) {
    const auto own = values_of(row, row.own_ns), yardstick = values_of(row, row.yardstick_ns);
    return {spread_of(own), spread_of(yardstick), spread_of(paired_ratios(own, yardstick))};
}

/// Ours against the other libraries that are installed; "" without one. A ratio above 1: ours is
/// faster, of the same round.
std::string peer_table(const std::vector<P2pCost>& rows) {
    const Table table({{"library", "", 10, true},
                       {"size", "B", 10},
                       {"unit", "", 5, true},
                       {"p2p", "", 26},
                       {"library", "", 26},
                       {"ratio", "", 19}});
    std::string lines;
    for (const P2pCost& row : rows) {
        for (const auto& [name, all] : row.peers_ns) {
            std::vector<double> theirs = all, own = row.own_ns;
            const std::size_t rounds = std::min(own.size(), theirs.size());  // that both have
            own.resize(rounds);
            theirs.resize(rounds);
            const Spread ratio = spread_of(paired_ratios(theirs, own));
            lines += table.row({name, fmt::format("{}", row.bytes), row.ping_pong ? "ns" : "GB/s",
                                range_text(spread_of(values_of(row, own))),
                                range_text(spread_of(values_of(row, theirs))), range_text(ratio)});
        }
    }
    if (lines.empty()) return {};
    return "# the same beside other libraries, two processes; they answer with as many bytes as "
           "came\n"
           "# ratio: how many times faster p2p is, of the same round\n#\n" +
           table.header() + lines + "\n";
}

void add_spread(Record& record, const std::string& name, const Spread& s) {
    record.emplace_back(name + "_min", s.minimum);
    record.emplace_back(name + "_median", s.median);
    record.emplace_back(name + "_max", s.maximum);
}

}  // namespace

std::string p2p_cost_table(const std::vector<P2pCost>& rows) {
    std::string out =
        "# shared memory (p2p.h), two ranks, each on a CPU of its own where there are two\n"
        "# up to 4 KiB: half a ping-pong, ns (lower is better), beside a counter that goes back "
        "and "
        "forth;\n"
        "# beyond: one message at a time until its answer is back, GB/s = 10^9 bytes/s (higher is "
        "better),\n"
        "# beside memcpy; ranks as processes: two copies, as threads: one, into the receiver's "
        "buffer\n"
        "# cells: median (min-max) of the rounds; ratio: of the same round; ~: the counter's own "
        "times "
        "differ\n"
        "# by more than 2 between rounds, so the CPUs were not the same distance apart all the "
        "time\n#\n";
    const Table table({{"ranks", "", 10, true},
                       {"size", "B", 10},
                       {"unit", "", 5, true},
                       {"p2p", "", 26},
                       {"yardstick", "", 26},
                       {"ratio", "", 19}});
    out += table.header();
    for (const P2pCost& row : rows) {
        const Summary s = summary_of(row);
        const bool unsteady = row.ping_pong && s.yardstick.maximum > 2 * s.yardstick.minimum;
        out += table.row({text_of(row.pair), fmt::format("{}", row.bytes),
                          row.ping_pong ? "ns" : "GB/s", range_text(s.own), range_text(s.yardstick),
                          (unsteady ? "~" : "") + range_text(s.ratio)});
    }
    return out + "\n" + peer_table(rows);
}

std::vector<Record> p2p_cost_records(const std::vector<P2pCost>& rows) {
    std::vector<Record> records;
    for (const P2pCost& row : rows) {
        const Summary s = summary_of(row);
        Record record{{"ranks", std::string(text_of(row.pair))},
                      {"shape", std::string(row.ping_pong ? "ping_pong" : "single")},
                      {"bytes", row.bytes},
                      {"rounds", std::uint64_t{row.own_ns.size()}}};
        const std::string unit = row.ping_pong ? "_ns" : "_gbytes_per_s";
        add_spread(record, "p2p" + unit, s.own);
        add_spread(record, "yardstick" + unit, s.yardstick);
        add_spread(record, "ratio", s.ratio);
        for (const auto& [name, all] : row.peers_ns)
            add_spread(record, name + unit, spread_of(values_of(row, all)));
        records.push_back(std::move(record));
    }
    return records;
}

}  // namespace duofi::tool
