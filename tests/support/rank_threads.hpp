// A rank that is several threads, each with comms of its own as callers have them (net contract 3.1): thread k of every
// rank meets thread k of the others in a lane of the channel, so that whatever is written for a rank runs in each of them.
#pragma once

#include <functional>

#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// Runs `body` in `threads` threads at once (1 to RankChannel::kLanes - 1), each with a Rank of its lane. Collective: all
/// ranks call it with the same number. The first failure is thrown when all have ended; it breaks the group so that
/// nobody waits for the failed thread.
void in_threads(const Rank& rank, int threads, const std::function<void(Rank&)>& body);

/// Runs `beside` in a second thread while `main` runs here; the first failure is thrown when both have ended.
void run_beside(const Rank& rank, const std::function<void()>& main, const std::function<void()>& beside);

}  // namespace duofi::test
