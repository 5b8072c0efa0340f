// Ranks that are processes, forked from a test that has no threads. Main thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/bootstrap/local_spawn.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "p2p/transport/communicator.hpp"

namespace duofi::p2p::test {

/// The long form was asked for on the command line (--full).
[[nodiscard]] bool full_tier();

/// Ends the calling body with the number of the line unless `condition` holds.
#define RANK_REQUIRE(condition)                                               \
    do {                                                                      \
        if (!(condition)) return step_failed(__FILE__, __LINE__, #condition); \
    } while (false)

/// Says on stderr what failed; returns 1.
[[nodiscard]] int step_failed(const char* file, int line, const char* what);

/// Exchange of one rank over the store of the run.
struct Meeting {
    bootstrap::Session session;
    std::unique_ptr<Bootstrap> bootstrap;
    /// The rank that serves must not leave before the others.
    [[nodiscard]] bool leave() {
        return session.store->barrier("end", Deadline(30 * kSecond)).has_value();
    }
};
/// `rank` and `size` of the exchange; the port comes from run_processes.
[[nodiscard]] std::unique_ptr<Meeting> meet(int rank, int size);

using RankMain = std::function<int(int rank)>;

/// Forks `size` ranks. All must end with 0, but for `victim`, which must be ended by SIGKILL.
void run_processes(int size, const RankMain& body, int victim = -1);

/// Number of open descriptors and of mappings of shared segments of this process.
[[nodiscard]] int open_descriptors();
[[nodiscard]] int segment_mappings();

}  // namespace duofi::p2p::test
