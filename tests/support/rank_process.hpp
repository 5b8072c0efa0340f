// One rank as a process that executes this test program anew. Main thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace duofi::test {

class RankProcess {
  public:
    /// `words`: arguments of the program; `env`: variables added or, with kUnset, removed;
    /// `prefix`: command put before the program. The channel is descriptor kChannelDescriptor over
    /// there.
    static RankProcess start(std::vector<std::string> words,
                             const std::map<std::string, std::string>& env,
                             const std::vector<std::string>& prefix, int channel_fd);

    /// Collects the end, if there is one; does not wait.
    bool ended();
    /// SIGKILL, unless it ended.
    void kill();
    [[nodiscard]] bool killed_by_signal() const;
    [[nodiscard]] int signal_number() const;
    [[nodiscard]] int exit_code() const;

  private:
    pid_t pid_ = -1;
    bool ended_ = false;
    int status_ = 0;
};

[[nodiscard]] bool all_ended(std::vector<RankProcess>& processes);

/// 2 ms between two looks at processes.
void pause_briefly();

}  // namespace duofi::test
