// `duofi bench`, the part over shared memory: messages through p2p/p2p.h against what the same two
// CPUs do without it, a counter that goes back and forth, and memcpy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/duofi/outcome.hpp"
#include "tools/duofi/output.hpp"

namespace duofi::tool {

/// How the two ranks reach each other.
enum class P2pPair { processes, threads };

/// One row; values by round, both in ns of one message: half a round trip, or one way with its
/// answer.
struct P2pCost {
    P2pPair pair = P2pPair::processes;
    std::uint64_t bytes = 0;
    bool ping_pong = false;
    std::vector<double> own_ns;
    std::vector<double> yardstick_ns;  ///< counter ping-pong, or memcpy of the same bytes by rank 0
    /// Other libraries that are installed (p2p_peers.hpp), with ranks as processes only: name and
    /// ns of one message by round, half a ping-pong at all sizes.
    std::vector<std::pair<std::string, std::vector<double>>> peers_ns{};
};

/// `rounds` rounds over all rows, of about `seconds` per measurement; own, yardstick and other
/// libraries in turn.
[[nodiscard]] Outcome<std::vector<P2pCost>> measure_p2p_cost(int rounds, double seconds);

[[nodiscard]] std::string p2p_cost_table(const std::vector<P2pCost>& rows);
[[nodiscard]] std::vector<Record> p2p_cost_records(const std::vector<P2pCost>& rows);

}  // namespace duofi::tool
