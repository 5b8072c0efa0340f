// Process ranks that stay and carry out one body after the other, so that a suite of many bodies
// starts its processes and opens its providers once. A crew with a failure is replaced by a new
// one. Main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/peer_group.hpp"
#include "tests/support/rank_process.hpp"

namespace duofi::test {

class RankCrew {
  public:
    explicit RankCrew(const GroupOptions& options) : options_(options) {}
    /// Ends the crew; an end other than by exit code 0 is a test failure.
    ~RankCrew() { dismiss(); }
    RankCrew(const RankCrew&) = delete;
    RankCrew& operator=(const RankCrew&) = delete;

    /// As run_group, with the processes of the run before.
    void run(const std::string& body);

    /// Ends the processes, orderly, and judges their end (leak checks run there).
    void dismiss();

  private:
    void start();
    void discard();

    GroupOptions options_;
    std::unique_ptr<RankChannel> channel_;
    std::vector<RankProcess> processes_;
};

/// Life of a crew member: bodies until the order to end. Returns the exit code.
int serve_in_crew(Rank& rank);

}  // namespace duofi::test
