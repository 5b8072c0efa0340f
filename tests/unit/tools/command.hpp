// Runs the `duofi` command of this build as a user would.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace duofi::test {

/// How one run ended. `exit_code` is -1 after a signal or a missed deadline.
struct Ended {
    int exit_code = -1;
    std::string out;  ///< stdout
    std::string err;  ///< stderr
};

/// One run of the command. The destructor ends what still runs.
class Command {
  public:
    /// Starts `duofi <arguments>` with these variables and the plugins of this build in
    /// LD_LIBRARY_PATH.
    Command(const std::vector<std::string>& arguments,
            const std::vector<std::pair<std::string, std::string>>& variables = {});
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Waits for the end, at most this long.
    Ended wait(int seconds = 120);
    /// Processes that the command started, waiting until there are `count` of them.
    std::vector<pid_t> children(std::size_t count, int seconds = 30) const;
    /// Waits until stdout holds `text`.
    bool printed(const std::string& text, int seconds = 30) const;

  private:
    pid_t pid_ = -1;
    std::string folder_;
};

}  // namespace duofi::test
