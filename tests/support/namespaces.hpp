// Two nodes on one machine: two network namespaces whose interfaces meet on a bridge in a third one. Main thread; needs
// root.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace duofi::test {

/// What the two nodes look like. Interface i of both is net<i>, in subnet i; a node with fewer reaches the other's
/// subnets through its first one.
struct NodesShape {
    std::array<int, 2> interfaces{1, 1};
    bool ipv6 = false;    ///< only IPv6 addresses
    int mtu = 0;          ///< bytes, 0 = as the kernel chooses
    int rate = 0;         ///< Mbit/s that each interface sends, 0 = no limit
    bool decoys = false;  ///< interfaces that discovery must leave alone: docker0, br-1, virbr0, veth1234 (A7)
    bool scrambled = false;  ///< created in an order of its own on each side
    bool spare = false;   ///< one more interface without address
};

/// Reads "2", "3x1", "1,ipv6", "2,mtu=1400,decoys,spare,scrambled", "2,rate=1000"; nullopt for anything else.
[[nodiscard]] std::optional<NodesShape> parse_nodes_shape(const std::string& text);

class JoinedNamespaces {
  public:
    explicit JoinedNamespaces(const NodesShape& shape = {});
    ~JoinedNamespaces();
    JoinedNamespaces(const JoinedNamespaces&) = delete;
    JoinedNamespaces& operator=(const JoinedNamespaces&) = delete;

    /// Why it did not work; empty when the namespaces are there.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Words that run a command in side 0 or 1, with own process numbers where `own_pids`.
    [[nodiscard]] std::vector<std::string> prefix(int side, bool own_pids) const;

    /// Takes the first interface of a side down or up.
    bool set_link(int side, bool up) const;

  private:
    [[nodiscard]] std::string name(int side) const;
    [[nodiscard]] std::vector<std::string> steps(const NodesShape& shape) const;
    std::string problem_;
};

}  // namespace duofi::test
