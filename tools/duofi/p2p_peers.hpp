// `duofi bench`, other libraries for ranks of one machine beside ours, as far as they are
// installed: Open MPI through a small program that is built where MPI is found, UCX through its own
// ucx_perftest. Both are other programs; this one neither links nor loads them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/duofi/outcome.hpp"

namespace duofi::tool {

/// A library and how one run of its pair is started.
struct P2pPeer {
    std::string name;  ///< "openmpi", "ucx"
    std::string program;
};

/// Those that can be run here: programs are looked up in PATH, ours beside this one.
[[nodiscard]] std::vector<P2pPeer> find_p2p_peers();

/// ns of one message of each size, half a ping-pong of it, of one run of the peer with about
/// `seconds` per size. 0: the peer did not say. The error tells why nothing could be measured.
[[nodiscard]] Outcome<std::vector<double>> run_p2p_peer(const P2pPeer& peer,
                                                        std::span<const std::size_t> sizes,
                                                        double seconds);

/// The numbers behind "size ns" lines of the MPI program.
[[nodiscard]] std::vector<std::pair<std::size_t, double>> parse_pair_lines(const std::string& text);
/// Microseconds of a message in the last "Final:" line of ucx_perftest, 0 without one.
[[nodiscard]] double parse_perftest(const std::string& text);

}  // namespace duofi::tool
