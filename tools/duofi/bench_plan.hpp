// The list of measurements and the memory in which a pair of processes leaves its results.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tools/duofi/bench_driver.hpp"

namespace duofi::tool {

/// What one pair of processes compares: messages over the net table, or operations of the RMA
/// table.
enum class Part : std::uint32_t { two_sided, one_sided };

[[nodiscard]] constexpr const char* to_string(Part part) noexcept {
    return part == Part::two_sided ? "two_sided" : "one_sided";
}

/// What carries the data.
enum class Via : std::uint32_t {
    tagged,
    write,
    net,
    raw_put,
    raw_put_signal,
    raw_get,
    rma_put,
    rma_put_signal,
    rma_get,
};
inline constexpr std::size_t kViaCount = 9;

[[nodiscard]] constexpr const char* to_string(Via via) noexcept {
    switch (via) {
        case Via::tagged:
            return "raw tagged";
        case Via::write:
        case Via::raw_put_signal:
            return "raw writedata";
        case Via::net:
            return "net table";
        case Via::raw_put:
            return "raw write";
        case Via::raw_get:
            return "raw read";
        case Via::rma_put:
        case Via::rma_put_signal:
        case Via::rma_get:
            return "RMA table";
    }
    return "";
}

/// The column that a yardstick stands beside; a plugin's column for itself.
[[nodiscard]] constexpr Via plugin_side(Via via) noexcept {
    switch (via) {
        case Via::raw_put:
            return Via::rma_put;
        case Via::raw_put_signal:
            return Via::rma_put_signal;
        case Via::raw_get:
            return Via::rma_get;
        case Via::tagged:
        case Via::write:
            return Via::net;
        default:
            return via;
    }
}
[[nodiscard]] constexpr bool is_plugin(Via via) noexcept {
    return plugin_side(via) == via;
}

/// The data arrives at the rank that leads.
[[nodiscard]] constexpr bool gets(Via via) noexcept {
    return plugin_side(via) == Via::rma_get;
}

struct Cell {
    Via via = Via::tagged;
    Workload work;
};

/// Workloads in order of the table; within one, the yardsticks before the plugin.
[[nodiscard]] std::vector<Cell> bench_cells(Part part);

inline constexpr std::size_t kMaxCells = 18;
inline constexpr std::size_t kMaxRounds = 1000;

/// One measurement. `share`: part of one core that the slower-served of the two measuring threads
/// got.
struct Sample {
    double microseconds = 0;  ///< half a round trip, one operation, or one message of a stream
    double share = 0;
};

/// Threads that got less of a core than this were disturbed: such rows are marked
/// (docs/performance.md).
inline constexpr double kCleanShare = 0.93;

using Text = std::array<char, 256>;

/// Lies in memory shared by the two processes and their parent; written by rank 0.
struct BenchResult {
    Part part = Part::two_sided;      ///< set by the parent
    Text provider{}, protocol{}, domain{}, device{}, library{};
    Text error{};                     ///< empty = complete; each rank may write it once
    std::uint32_t table_version = 0;
    bool delivery = false;  ///< raw one-sided writes complete when they are applied at the target
    std::uint64_t checked_bytes = 0;  ///< compared before anything was timed
    std::uint32_t rounds = 0;         ///< complete ones
    bool no_device = false;           ///< nothing to measure: the provider offers no device here
    std::array<std::array<Sample, kMaxRounds>, kMaxCells> samples{};
};

void set_text(Text& target, const char* text) noexcept;

}  // namespace duofi::tool
