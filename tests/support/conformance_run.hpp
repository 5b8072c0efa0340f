// What the conformance programs have in common: their command line, lasting ranks, and how much a rank does. Main thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/namespaces.hpp"
#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// What the command line chose.
struct ConformanceChoice {
    std::string provider = "native";  ///< native, rxm, shm, sockets or a libfabric name
    RankMode mode = RankMode::processes;
    std::string protocol;             ///< of the net plugin, sendrecv or rdma, "" = its own choice
    std::string version;              ///< of the table, "" = the newest
    std::optional<NodesShape> nodes;  ///< ranks in turn on two nodes, as processes
    bool full = false;
    Nanoseconds timeout = 60 * kSecond;  ///< of one body
};
[[nodiscard]] const ConformanceChoice& conformance_choice();

/// The main function of a conformance program: ranks of the command line run their body, everything else runs the tests.
/// `env` is set for the whole program.
[[nodiscard]] int conformance_main(int argc, char** argv, const std::map<std::string, std::string>& env = {});

/// Options of a group for the choice.
[[nodiscard]] GroupOptions conformance_options(int ranks);
/// Runs the body in lasting ranks, or in threads.
void run_conformance_body(const char* body, int ranks);

/// How much of something a rank does: fewer where the provider is slow, the group large or the
/// build instrumented; `full` instead in the long tier. At least 2.
[[nodiscard]] int amount(const Rank& rank, int quick, int full);
[[nodiscard]] inline int amount(const Rank& rank, int quick) { return amount(rank, quick, quick * 4); }

[[nodiscard]] inline bool is_full(const Rank& rank) { return rank.number("full", 0) != 0; }

/// Threads of a rank in bodies that run in several: fewer in large groups.
[[nodiscard]] inline int threads_of(const Rank& rank) { return is_full(rank) ? 4 : std::max(1, 8 / rank.count); }

/// Ranks stand in turn on the nodes that the command line asked for.
[[nodiscard]] inline int node_of(const Rank& rank) { return rank.index % rank.number("nodes", 1); }

/// Where each message takes milliseconds.
[[nodiscard]] inline bool is_slow(const Rank& rank) { return rank.text("provider") == "sockets" && !is_full(rank); }

}  // namespace duofi::test
