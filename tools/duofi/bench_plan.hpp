// The list of measurements and the memory in which a pair of processes leaves its results.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tools/duofi/bench_driver.hpp"

namespace duofi::tool {

/// What carries the messages.
enum class Via : std::uint32_t { tagged, write, net };
inline constexpr std::size_t kViaCount = 3;

[[nodiscard]] constexpr const char* to_string(Via via) noexcept {
    switch (via) {
        case Via::tagged:
            return "raw tagged";
        case Via::write:
            return "raw writedata";
        case Via::net:
            return "net table";
    }
    return "";
}

struct Cell {
    Via via = Via::tagged;
    Workload work;
};

/// Workloads in order of the table; within one, the yardsticks before the plugin.
[[nodiscard]] inline std::vector<Cell> bench_cells() {
    std::vector<Cell> cells{{Via::tagged, {Shape::ping_pong, 8, 1, 1}},
                            {Via::net, {Shape::ping_pong, 8, 1, 1}}};
    for (const std::uint32_t bytes : {65536u, 1048576u})
        for (const std::uint32_t window : {1u, 32u})
            for (const Via via : {Via::tagged, Via::write, Via::net})
                cells.push_back({via, {Shape::stream, bytes, window, 1}});
    return cells;
}

inline constexpr std::size_t kMaxCells = 16;
inline constexpr std::size_t kMaxRounds = 1000;

/// One measurement. `share`: part of one core that the slower-served of the two measuring threads
/// got.
struct Sample {
    double microseconds = 0;  ///< half a round trip, or one message of a stream
    double share = 0;
};

/// Threads that got less of a core than this were disturbed: such rows are marked
/// (docs/performance.md).
inline constexpr double kCleanShare = 0.93;

using Text = std::array<char, 256>;

/// Lies in memory shared by the two processes and their parent; written by rank 0.
struct BenchResult {
    Text provider{}, domain{}, device{}, library{};
    Text error{};                     ///< empty = complete; each rank may write it once
    std::uint64_t checked_bytes = 0;  ///< compared before anything was timed
    std::uint32_t rounds = 0;         ///< complete ones
    bool no_device = false;           ///< nothing to measure: the provider offers no device here
    std::array<std::array<Sample, kMaxRounds>, kMaxCells> samples{};
};

void set_text(Text& target, const char* text) noexcept;

}  // namespace duofi::tool
