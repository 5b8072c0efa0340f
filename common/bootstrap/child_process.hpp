// One forked rank: start, signal, reap. The owner must reap it; nothing is done by the destructor.
// One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/bootstrap/local_spawn.hpp"
#include "common/util/error.hpp"

namespace duofi::bootstrap {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// torchrun's variables and the request's own for one rank.
[[nodiscard]] Variables variables_of(const SpawnRequest& request, int rank);

/// A process that is running or was reaped.
class ChildProcess {
  public:
    /// Forks; the child gets default signals, a group of its own, SIGKILL when the parent ends, the
    /// variables, and ends with the result of `body`. Error: Errc::system, errno kept.
    [[nodiscard]] static Result<ChildProcess> start(int rank, const Variables& variables,
                                                    const std::function<int(int)>& body);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool running() const noexcept { return running_; }
    [[nodiscard]] const RankExit& exit() const noexcept { return exit_; }

    /// Signals the whole group while the process runs.
    void signal(int number) const noexcept;
    /// True when it just ended; `stopping` is noted in its RankExit. Never waits.
    bool reap(bool stopping) noexcept;

  private:
    ChildProcess(pid_t pid, int rank) noexcept : pid_(pid) { exit_.rank = rank; }
    pid_t pid_;
    bool running_ = true;
    RankExit exit_;
};

/// Replaces the process by a program found in PATH; 127 when that fails.
[[nodiscard]] int become_program(const std::vector<std::string>& argv);

}  // namespace duofi::bootstrap
