// Pods and servers: V-15, V-16.
// Units: p2p/gate/pods.
#include "p2p/gate/pods.hpp"

#include <gtest/gtest.h>

#include "tests/unit/p2p/gate/records.hpp"

namespace duofi::p2p::test {
namespace {

ncclPeerInfo member(PodType type, int node, int mla, int rank) {
    ncclPeerInfo info{};
    info.rank = rank;
    info.hostHash = 100 + static_cast<std::uint64_t>(node);
    info.pidHash = static_cast<std::uint64_t>(rank);
    info.shmDev = std::uint64_t{9} << 32;
    info.busId = made_up_bus_id(mla);
    info.instanceFamily = static_cast<std::int32_t>(
        type == PodType::switched ? NeuronFamily::trn3_switch : NeuronFamily::trn2u);
    info.mlaIndex = mla;
    info.routingId = mla;
    info.podType = static_cast<std::int32_t>(type);
    info.podId = 7;
    info.podNode = node;
    info.podSize = 4;
    return info;
}

GateStep step_with(bool pods, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    ncclTopoSystem topo;
    topo.pods = pods;
    const ncclPeerInfo ranks[] = {a, b};
    topo.placement = std::make_shared<const Placement>(nullptr, ranks, true);
    const GateStep step = gate(topo, a, b);
    EXPECT_EQ(step, gate(topo, b, a)) << "C-31";
    return step;
}

TEST(Pods, OffByDefault) {  // V-15
    EXPECT_EQ(step_with(false, member(PodType::switched, 0, 1, 0), member(PodType::switched, 1, 1, 1)),
              GateStep::other_host);
    EXPECT_EQ(step_with(false, member(PodType::p2p, 0, 1, 0), member(PodType::p2p, 1, 1, 1)),
              GateStep::other_host);
}

TEST(Pods, SwitchedOnesReachAllNodesFromZeroToThree) {  // V-15
    for (int a = 0; a < 5; ++a)
        for (int b = 0; b < 5; ++b) {
            if (a == b) continue;
            EXPECT_EQ(step_with(true, member(PodType::switched, a, 1, a), member(PodType::switched, b, 6, b)),
                      a < 4 && b < 4 ? GateStep::passed : GateStep::pod)
                << a << " " << b;
        }
    ncclPeerInfo stranger = member(PodType::switched, 2, 1, 2);
    stranger.podId = 8;
    EXPECT_EQ(step_with(true, member(PodType::switched, 0, 1, 0), stranger), GateStep::pod);
    ncclPeerInfo torus = member(PodType::switched, 2, 1, 2);
    torus.instanceFamily = static_cast<std::int32_t>(NeuronFamily::trn3);
    EXPECT_EQ(step_with(true, member(PodType::switched, 0, 1, 0), torus), GateStep::pod);
}

TEST(Pods, RingsReachTheSameChipOfNeighbours) {  // V-15
    for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b)
            for (const int mla : {3, 4}) {
                if (a == b) continue;
                const bool near = (a - b + 4) % 4 == 1 || (b - a + 4) % 4 == 1;
                EXPECT_EQ(step_with(true, member(PodType::p2p, a, 3, a), member(PodType::p2p, b, mla, b)),
                          near && mla == 3 ? GateStep::passed : GateStep::pod)
                    << a << " " << b << " " << mla;
            }
    EXPECT_EQ(pod_peer(3, 1, 4), 0);
    EXPECT_EQ(pod_peer(0, -1, 4), 3);
    EXPECT_EQ(pod_peer(0, 1, 0), -1);
    EXPECT_FALSE(valid_pod_node(PodType::p2p, 4, 4));
    EXPECT_TRUE(valid_pod_node(PodType::p2p, 4, 5));
    EXPECT_FALSE(valid_pod_node(PodType::switched, 4, 5));
    EXPECT_FALSE(valid_pod_node(PodType::none, 0, 4));
    EXPECT_FALSE(valid_pod_node(PodType::invalid, 0, 4));
}

TEST(Pods, MemoryMustReachThatFar) {  // G3 comes behind the pods
    ncclPeerInfo far = member(PodType::p2p, 1, 3, 1);
    far.shmDev = std::uint64_t{8} << 32;
    EXPECT_EQ(step_with(true, member(PodType::p2p, 0, 3, 0), far), GateStep::other_domain);
}

TEST(Servers, RoutingIdsOfSwitchesCarryTheirServer) {  // V-16
    ncclPeerInfo a = member(PodType::none, 0, 1, 0), b = member(PodType::none, 0, 2, 1);
    a.instanceFamily = b.instanceFamily = static_cast<std::int32_t>(NeuronFamily::trn3_switch);
    a.routingId = 0x11;
    b.routingId = 0x12;
    EXPECT_TRUE(same_server(a, b));
    EXPECT_EQ(step_with(false, a, b), GateStep::passed);
    b.routingId = 0x22;
    EXPECT_EQ(step_with(false, a, b), GateStep::other_host);
}

TEST(Servers, EqualBusIdsElsewhereAndOtherDomains) {  // V-16, T-10
    ncclPeerInfo a = member(PodType::none, 0, 1, 0), b = member(PodType::none, 0, 1, 1);
    EXPECT_EQ(step_with(false, a, b), GateStep::passed) << "one device";
    b.hostHash = 5;
    EXPECT_EQ(step_with(false, a, b), GateStep::other_host);
    b = member(PodType::none, 0, 2, 1);
    b.shmDev = std::uint64_t{8} << 32;
    EXPECT_EQ(step_with(false, a, b), GateStep::other_domain);
}

}  // namespace
}  // namespace duofi::p2p::test
