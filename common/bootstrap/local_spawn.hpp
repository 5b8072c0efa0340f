// Starts N ranks on this node, watches them and reaps every one (ecosystem 4.2).
// Call from the main thread, before others run: while it waits it blocks SIGINT, SIGTERM and
// SIGCHLD in the calling thread, passes the first two on, and restores mask and dispositions before
// it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::bootstrap {

/// What to start and for how long.
struct SpawnRequest {
    int size = 1;
    Nanoseconds timeout = 120 * kSecond;   ///< whole run; the rest is killed after it
    Nanoseconds kill_grace = 2 * kSecond;  ///< between SIGTERM and SIGKILL of the others
    std::string root_host = "127.0.0.1";   ///< MASTER_ADDR of the ranks
    std::uint16_t root_port = 0;  ///< MASTER_PORT; must be given unless the ranks need none
    std::vector<std::pair<std::string, std::string>>
        variables;  ///< further variables of every rank
};

/// How one rank ended.
struct RankExit {
    int rank = -1;
    int exit_code = -1;     ///< -1 when it was ended by a signal
    int signal_number = 0;  ///< 0 when it exited
    bool stopped_by_us =
        false;  ///< ended because another rank failed, a deadline or a forwarded signal
    [[nodiscard]] bool ok() const noexcept { return exit_code == 0; }
};

/// How the run ended.
struct SpawnOutcome {
    std::vector<RankExit> ranks;  ///< by rank
    int first_failed = -1;        ///< rank that failed first, -1 if none
    bool timed_out = false;
    int forwarded_signal = 0;  ///< SIGINT or SIGTERM received by us, 0 if none
    [[nodiscard]] bool ok() const noexcept;
    /// "rank 3 ended by signal 9 (Killed)", "all 4 ranks exited with 0", ...
    [[nodiscard]] std::string summary() const;
};

/// Forks `size` processes that each call `body(rank)` and end with its result as exit code (70 when
/// it throws), without running the parent's exit handlers. Ranks see torchrun's variables, have
/// process groups of their own, and die with the parent. When one fails, or the time is over, the
/// others get SIGTERM, and after the grace SIGKILL. Errors: Errc::invalid_argument for a size below
/// 1; Errc::system when a process cannot be started (those already started are ended and reaped) or
/// does not even react to SIGKILL.
[[nodiscard]] Result<SpawnOutcome> run_ranks(const SpawnRequest& request,
                                             const std::function<int(int rank)>& body);

/// The same with a program: `argv[0]` is looked up in PATH. A program that cannot be executed ends
/// its rank with exit code 127.
[[nodiscard]] Result<SpawnOutcome> run_ranks(const SpawnRequest& request,
                                             const std::vector<std::string>& argv);

/// A TCP port that was free on `host` a moment ago, for the root of a local run. Error:
/// Errc::system.
[[nodiscard]] Result<std::uint16_t> free_port(const std::string& host = "127.0.0.1");

}  // namespace duofi::bootstrap
