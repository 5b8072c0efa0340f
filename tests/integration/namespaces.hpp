// Two network namespaces joined by a pair of interfaces, for tests that need two nodes on one
// machine. Main thread; needs root.
#pragma once

#include <string>
#include <vector>

namespace duofi::test {

class JoinedNamespaces {
  public:
    JoinedNamespaces();
    ~JoinedNamespaces();
    JoinedNamespaces(const JoinedNamespaces&) = delete;
    JoinedNamespaces& operator=(const JoinedNamespaces&) = delete;

    /// Why it did not work; empty when the namespaces are there.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Words that run a command in side 0 or 1, with own process numbers where `own_pids`.
    [[nodiscard]] std::vector<std::string> prefix(int side, bool own_pids) const;

    /// Takes the interface of a side down or up.
    bool set_link(int side, bool up) const;

  private:
    [[nodiscard]] std::string name(int side) const;
    std::string problem_;
};

}  // namespace duofi::test
