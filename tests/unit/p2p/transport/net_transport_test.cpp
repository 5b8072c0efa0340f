// Index 1 of the table: its shape, its set-up, what it leaves behind (p2p contract 5.1, 5.2).
// Units: p2p/transport/net_transport p2p/transport/net_context.
#include "p2p/transport/net_transport.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "p2p/gate/can_connect.hpp"
#include "p2p/transport/blob.hpp"
#include "p2p/transport/net_edge.hpp"
#include "tests/unit/p2p/transport/net_nodes.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

using duofi::test::LogLines;

class NetTransport : public testing::Test {
  protected:
    void TearDown() override {
        EXPECT_TRUE(fake_net_is_closed());
        stop_fake_net();
    }
    LogLines lines_;
};

TEST_F(NetTransport, C5_FillsAllSlots) {
    use_fake_net(6);
    EXPECT_STREQ(net_transport.name, "NET_NEURON");
    for (const ncclTransportComm* half : {&net_transport.send, &net_transport.recv}) {
        EXPECT_TRUE(half->setup && half->connect && half->free && half->proxy &&
                    half->allocRequest && half->freeRequest);
    }
    EXPECT_NE(net_transport.send.proxy, net_transport.recv.proxy);
    EXPECT_EQ(net_transport.send.free(nullptr), ncclSuccess);  // C-26
    EXPECT_EQ(net_transport.canConnect(nullptr, nullptr, nullptr, nullptr, nullptr),
              ncclInvalidArgument);
}

TEST_F(NetTransport, CanConnectWhenThePluginHasADevice) {
    for (const int devices : {0, 1, 3}) {
        use_fake_net(6, {.devices = devices});
        int can = -1;
        ASSERT_EQ(net_transport.canConnect(&can, nullptr, nullptr, nullptr, nullptr), ncclSuccess);
        EXPECT_EQ(can, devices > 0 ? 1 : 0);
        stop_fake_net();
    }
    set_net_opener([](std::uint64_t) -> Result<OpenedNet> { return fail(Errc::no_data, "none"); });
    int can = -1;
    ASSERT_EQ(net_transport.canConnect(&can, nullptr, nullptr, nullptr, nullptr), ncclSuccess);
    EXPECT_EQ(can, 0);
}

TEST_F(NetTransport, StaysOutOfANodeWhenTheUserSaysSo) {
    use_fake_net(6);
    ncclTopoSystem topo;
    ncclPeerInfo me{}, peer{};
    me.hostHash = peer.hostHash = 7;
    const auto can = [&] {
        int answer = -1;
        EXPECT_EQ(net_transport.canConnect(&answer, &topo, nullptr, &me, &peer), ncclSuccess);
        return answer;
    };
    EXPECT_EQ(can(), 1);
    topo.net_inside = false;
    EXPECT_EQ(can(), 0);
    peer.hostHash = 8;
    EXPECT_EQ(can(), 1);
    stop_fake_net();
}

TEST_F(NetTransport, C13_WithoutDevicesThereIsNoTransport) {
    use_fake_net(6, {.devices = 0});
    Team team(2, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        ASSERT_FALSE(connected);
        EXPECT_TRUE(connected.error().code == Errc::internal ||
                    connected.error().code == Errc::remote);
    });
    EXPECT_FALSE(lines_.with("No transport found between devices").empty()) << lines_.dump();
}

TEST_F(NetTransport, UnknownTablesAreRefused) {
    use_fake_net(5);
    Team team(2, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_all()); });
    EXPECT_FALSE(lines_.with("table v5 of FAKE is not used").empty()) << lines_.dump();
}

TEST_F(NetTransport, ConnectsInSeveralAttemptsAndClosesItsListeners) {  // T-16
    use_fake_net(9, {.attempts = 20});
    Team team(3, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    EXPECT_EQ(fake_counts().listens, 0);
    EXPECT_EQ(fake_counts().send_comms, 6);
    EXPECT_EQ(fake_counts().recv_comms, 6);
    EXPECT_EQ(fake_counts().registrations, 0) << "buffers are registered with their first use";
    EXPECT_EQ(fake_counts().attached, 3) << "once for each communicator";
    EXPECT_STREQ(team.rank(0).edge_text(1), "NET_NEURON");
    EXPECT_EQ(lines_.with("[send] via NET_NEURON/FAKE/0").size(), 6u) << lines_.dump();
    team.tear_down();
}

TEST_F(NetTransport, V24_P2pWhereItCanAndNetWhereItMust) {
    use_fake_net(6);
    Team team(4, "host", on_nodes(2));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    for (int rank = 0; rank < 4; ++rank)
        for (int peer = 0; peer < 4; ++peer) {
            if (peer == rank) continue;
            const bool near = rank / 2 == peer / 2;
            EXPECT_STREQ(team.rank(rank).edge_text(peer), near ? "P2P/direct pointer" : "NET_NEURON");
            const ncclConnector& send = team.comm(rank).channels.front().peers[peer].send;
            EXPECT_EQ(send.transportComm->proxy == nullptr, near);
        }
    EXPECT_EQ(net_counts().threads_running, 0u) << "no operation, no proxy";
    team.tear_down();
}

TEST_F(NetTransport, T15_TheHandleIsTheWholeBlob) {
    use_fake_net(6);
    std::vector<Message> seen;
    std::mutex mutex;
    Team team(2, "host", on_nodes(1), [&](int, int, Message& message) {
        const std::scoped_lock lock(mutex);
        if (message.type == MessageType::transport_init) seen.push_back(message);
        return true;
    });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    ASSERT_EQ(seen.size(), 2u);
    for (const Message& message : seen) {
        ASSERT_EQ(message.bytes.size(), 2u * CONNECT_SIZE);
        EXPECT_EQ(message.bytes[CONNECT_SIZE - 1], std::byte{0x5a}) << "of the receiver: the handle";
        for (std::size_t i = CONNECT_SIZE; i < message.bytes.size(); ++i)
            EXPECT_EQ(message.bytes[i], std::byte{0}) << "of the sender: nothing";
    }
    team.tear_down();
}

TEST_F(NetTransport, T6_AnEndThatSelectedP2pIsNamed) {
    use_fake_net(6);
    Team team(2, "host", [](int rank, CommunicatorOptions& options) {
        // One rank believes that they share a node.
        static const ncclTransport* const net_only[] = {&net_transport, &net_transport};
        if (rank == 1) options.transports = net_only;
        options.timeout = 5 * kSecond;
    });
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_all()); });
    EXPECT_FALSE(lines_.with("selected P2P for channel 0, this rank selected NET").empty() &&
                 lines_.with("is not one of P2P").empty())
        << lines_.dump();
}

TEST_F(NetTransport, APeerThatNeverAnswersEndsAtTheDeadline) {
    use_fake_net(6, {.never_connects = true});
    Team team(2, "host", [](int rank, CommunicatorOptions& options) {
        on_nodes(1)(rank, options);
        options.timeout = kSecond / 2;
    });
    ASSERT_TRUE(team.whole());
    const Nanoseconds start = now_ns();
    team.run([](int, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        ASSERT_FALSE(connected);
        EXPECT_TRUE(connected.error().code == Errc::timed_out ||
                    connected.error().code == Errc::remote);
    });
    EXPECT_LT(now_ns() - start, 5 * kSecond);
}

TEST_F(NetTransport, FailuresOfEachEntryEndTheSetUp) {
    for (const char* entry : {"listen", "connect", "accept"}) {
        SCOPED_TRACE(entry);
        use_fake_net(6, {.fail = entry, .result = ncclSystemError});
        Team team(2, "host", on_nodes(1));
        ASSERT_TRUE(team.whole());
        team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_all()); });
        EXPECT_FALSE(lines_.with(std::string(entry) + " of the net plugin").empty())
            << lines_.dump();
    }
}

TEST_F(NetTransport, ChannelsTakeTurnsOverTheDevices) {
    use_fake_net(6, {.devices = 2});
    Team team(2, "host", on_nodes(1, 4));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    for (int channel = 0; channel < 4; ++channel) {
        const ncclConnector& send =
            team.comm(0).channels[static_cast<std::size_t>(channel)].peers[1].send;
        EXPECT_EQ(static_cast<const NetEdge*>(send.transportResources)->device, channel % 2);
    }
    team.tear_down();
}

TEST_F(NetTransport, ConnectTwiceIsAnError) {
    use_fake_net(6);
    Team team(2, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    ncclConnector& send = team.comm(0).channels.front().peers[1].send;
    ncclConnect blob{};
    EXPECT_EQ(net_transport.send.connect(&team.comm(0), &blob, 1, 0, &send), ncclInternalError);
    EXPECT_EQ(net_transport.send.connect(nullptr, &blob, 1, 0, &send), ncclInvalidArgument);
    team.tear_down();
}

}  // namespace
}  // namespace duofi::p2p::test
