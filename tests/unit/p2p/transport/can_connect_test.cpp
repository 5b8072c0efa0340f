// The steps of the gate that exist: T-6, T-10, T-11, C-30 to C-33.
// Units: p2p/gate/can_connect.
#include "p2p/gate/can_connect.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

struct GateTest : testing::Test {
    ncclTopoSystem topo;
    ncclPeerInfo a{}, b{};
    duofi::test::LogLines lines;

    void SetUp() override {
        a.rank = 0;
        b.rank = 1;
        a.hostHash = b.hostHash = 5;
        a.pidHash = 1;
        b.pidHash = 2;
        a.shmDev = b.shmDev = std::uint64_t{9} << 32;
        a.busId = 0x100;
        b.busId = 0x200;
    }
    GateStep both_ways() {
        const GateStep one = gate(topo, a, b);
        EXPECT_EQ(one, gate(topo, b, a)) << "C-31";
        return one;
    }
};

TEST_F(GateTest, neighbours_pass) {
    EXPECT_EQ(both_ways(), GateStep::passed);
}

TEST_F(GateTest, disabled_means_nobody_not_even_the_same_device) {  // T-11
    topo.disabled = true;
    b.busId = a.busId;
    b.pidHash = a.pidHash;
    EXPECT_EQ(both_ways(), GateStep::disabled);
}

TEST_F(GateTest, equal_bus_ids_on_other_hosts_do_not_count) {  // C-30, T-10
    b.hostHash = 6;
    b.busId = a.busId;
    EXPECT_EQ(both_ways(), GateStep::other_host);
}

TEST_F(GateTest, another_domain_needs_one_address_space) {
    b.shmDev = std::uint64_t{8} << 32;
    EXPECT_EQ(both_ways(), GateStep::other_domain);
    topo.unified = true;
    EXPECT_EQ(both_ways(), GateStep::passed);
    topo.unified = false;
    b.pidHash = a.pidHash;
    EXPECT_EQ(both_ways(), GateStep::passed);
}

TEST_F(GateTest, relay_edges_need_relays_and_no_access) {
    topo.path = [](const ncclPeerInfo&, const ncclPeerInfo&) {
        return PathAnswer{.p2p = true, .intermediate = 3};
    };
    topo.access = [](const ncclPeerInfo&, const ncclPeerInfo&) -> Result<bool> { return false; };
    EXPECT_EQ(both_ways(), GateStep::relay_off);
    topo.relay = true;
    EXPECT_EQ(both_ways(), GateStep::passed);
}

TEST_F(GateTest, devices_without_access_are_named) {
    topo.access = [](const ncclPeerInfo&, const ncclPeerInfo&) -> Result<bool> { return false; };
    EXPECT_EQ(gate(topo, b, a), GateStep::access);
    EXPECT_TRUE(lines.info("Could not enable P2P between dev 0(=100) and dev 0(=200)"))
        << lines.dump();
    topo.access = [](const ncclPeerInfo&, const ncclPeerInfo&) -> Result<bool> {
        return fail(Errc::system, "query");
    };
    EXPECT_EQ(gate(topo, b, a), GateStep::access);
    EXPECT_TRUE(lines.info("peer query failed between dev 0(=100) and dev 0(=200)"));
    b.busId = a.busId;
    EXPECT_EQ(both_ways(), GateStep::passed) << "the same device reaches itself";
}

TEST_F(GateTest, read_follows_the_path_unless_the_user_says_otherwise) {
    topo.path = [](const ncclPeerInfo&, const ncclPeerInfo&) {
        return PathAnswer{.p2p = true, .read = true};
    };
    EXPECT_TRUE(check_p2p(topo, a, b).read);
    topo.read_override = 0;
    EXPECT_FALSE(check_p2p(topo, a, b).read);
    topo.path = {};
    topo.read_override = 1;
    EXPECT_TRUE(check_p2p(topo, a, b).read);
}

TEST_F(GateTest, both_ends_ask_in_the_same_order) {  // C-31, T-6
    std::mt19937 random(7);
    // Answers that depend on the order of their arguments.
    topo.path = [](const ncclPeerInfo& low, const ncclPeerInfo& high) {
        return PathAnswer{.p2p = (low.rank * 7 + high.rank) % 3 != 0,
                          .read = (low.rank * 5 + high.rank) % 2 == 0};
    };
    topo.access = [](const ncclPeerInfo& low, const ncclPeerInfo& high) -> Result<bool> {
        return (low.rank * 3 + high.rank) % 5 != 0;
    };
    for (int i = 0; i < 10000; ++i) {
        a.rank = static_cast<int>(random() % 100);
        b.rank = static_cast<int>(random() % 100);
        both_ways();
        EXPECT_EQ(check_p2p(topo, a, b).read, check_p2p(topo, b, a).read);
    }
}

TEST_F(GateTest, a_negative_decision_is_no_failure) {  // C-33
    topo.disabled = true;
    int answer = 5;
    EXPECT_EQ(can_connect(&answer, &topo, nullptr, &a, &b), ncclSuccess);
    EXPECT_EQ(answer, 0);
    topo.disabled = false;
    EXPECT_EQ(can_connect(&answer, &topo, nullptr, &a, &b), ncclSuccess);
    EXPECT_EQ(answer, 1);
    EXPECT_EQ(can_connect(nullptr, &topo, nullptr, &a, &b), ncclInvalidArgument);
    EXPECT_EQ(can_connect(&answer, nullptr, nullptr, &a, &b), ncclInvalidArgument);
}

}  // namespace
}  // namespace duofi::p2p::test
