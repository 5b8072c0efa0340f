// A network inside the test process behind tables of all versions: connections that take several
// attempts, transfers that take several tests and whose bytes arrive back to front, calls that fail
// when told to. Counts what is open. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/abi/host_types.h"
#include "p2p/transport/net_context.hpp"

namespace duofi::p2p::test {

struct FakePlan {
    int devices = 1;
    int attempts = 3;    ///< calls of connect and accept before there is a comm
    int tests = 2;       ///< calls of test before a transfer is done
    int refusals = 0;    ///< of so many posts, each last one gives no request
    bool never_connects = false;
    std::string fail{};  ///< entry that fails: "isend", "irecv", "test", "connect", ...
    int fail_after = 0;  ///< so many calls of it succeed before
    ncclResult_t result = ncclRemoteError;
};

struct FakeCounts {
    int attached = 0, listens = 0, send_comms = 0, recv_comms = 0, registrations = 0, requests = 0;
    int messages = 0;      ///< sent since the start
    int most_requests = 0; ///< of one comm at a time
    int inits = 0, closed_with_requests = 0;
    friend bool operator==(const FakeCounts&, const FakeCounts&) = default;
};

/// From here on plugins of p2p are this network, with tables of `version`; forgets earlier counts.
void use_fake_net(int version, const FakePlan& plan = {});
/// Back to real plugins. Nothing may be open.
void stop_fake_net();
void change_fake_plan(const FakePlan& plan);
[[nodiscard]] FakeCounts fake_counts();
/// Nothing is open any more.
[[nodiscard]] bool fake_net_is_closed();

/// For tests without a communicator.
[[nodiscard]] OpenedNet open_fake_net();

}  // namespace duofi::p2p::test
