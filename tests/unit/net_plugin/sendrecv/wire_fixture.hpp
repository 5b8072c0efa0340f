// A comm under test and a raw peer at its other end, over each provider. Every test ends without a log line.
#pragma once

#include <optional>
#include <type_traits>

#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {

/// More than the eager limit.
inline constexpr std::size_t kLarge = 20000;

/// `Peer` is WireSender (a receive comm is tested) or WireReceiver (a send comm).
template <typename Peer>
class OverWire : public OverProvider {
  protected:
    void SetUp() override {
        OverProvider::SetUp();
        if (IsSkipped()) return;
        side.emplace(GetParam());
        node.emplace(GetParam());
        if constexpr (std::is_same_v<Peer, WireSender>)
            peer = wire_sender(*node, *side);
        else
            peer = wire_receiver(*node, *side, GetParam());
    }
    void TearDown() override {
        peer = Peer{};
        EXPECT_TRUE(log.all().empty()) << log.dump();
    }
    void pump(int rounds) {
        for (int i = 0; i < rounds; ++i) {
            side->poll();
            node->poll();
        }
    }
    std::optional<Side> side;
    std::optional<WireNode> node;
    Peer peer;
};

}  // namespace duofi::net::comm_test
