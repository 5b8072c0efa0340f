// Connections between the ranks of a group over the table under test. Each function is collective:
// all ranks call it in the same order.
#pragma once

#include <vector>

#include "tests/support/net_driver.hpp"
#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// What one rank holds towards its neighbours: sends to one, receives from one.
struct Link {
    Comm send;
    Comm recv;
};

/// Rank r sends to `send_to(r)`; the map over all ranks must be a permutation. Odd ranks use the
/// devices in reverse order (net contract 9.1 nccl_connection).
[[nodiscard]] Link connect_link(Rank& rank, const Net& net, int send_to, int device = 0);

/// Link with the partner rank (0-1, 2-3, ...) in both directions.
[[nodiscard]] Link connect_pair(Rank& rank, const Net& net, int device = 0);

/// Links with every rank, own included: entry p is the link with rank p.
[[nodiscard]] std::vector<Link> connect_mesh(Rank& rank, const Net& net);

[[nodiscard]] inline int partner_of(const Rank& rank) {
    return rank.index ^ 1;
}

/// Device `k` as this rank counts.
[[nodiscard]] int device_of(const Rank& rank, const Net& net, int k);

/// Polls one connect and one accept in turn until both are through.
[[nodiscard]] Link finish_link(Connecting& connecting, const Listener& listener);

}  // namespace duofi::test
