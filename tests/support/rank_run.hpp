// Inside of the peer group: shared by its sources only.
#pragma once

#include <string>
#include <vector>

#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// Where a process rank finds its channel.
inline constexpr int kChannelDescriptor = 63;

/// Name on the command line of a process that serves in a crew.
inline constexpr const char* kCrewBody = "crew";

[[nodiscard]] Rank make_rank(int index, const GroupOptions& options, RankChannel& channel);

[[nodiscard]] RankBody find_rank_body(const std::string& name);

/// Runs a body; an exception becomes a test failure and breaks the group.
void run_body(RankBody body, Rank& rank);

void fail_on_unexpected_warnings();

/// What each rank last said it does, one per line.
[[nodiscard]] std::string steps_of(const RankChannel& channel);

/// Words that make this program run `body` as `rank`.
[[nodiscard]] std::vector<std::string> rank_command_line(const std::string& body, const Rank& rank);

}  // namespace duofi::test
