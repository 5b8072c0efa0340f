// Units: net_plugin/comms/abandoned_attempt.
// Peers that are lost or leave: every comm to them is told, once, and no other.
#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {
namespace {

constexpr std::size_t kLarge = 20000;
constexpr Nanoseconds kToldWithin = patience(5 * kSecond);

class PeerLoss : public OverProvider {
  protected:
    /// Declares the endpoint `who` dead as seen from `side`.
    static void lose(Side& side, const ofi::EndpointName& who) {
        const std::scoped_lock lock(side.ofi().mutex());
        ofi::Peer* peer = side.ofi().acquire_peer(who);
        ASSERT_NE(peer, nullptr);
        side.ofi().lose_peer(*peer, "a test says so");
        side.ofi().release_peer(peer);
    }
};

TEST_P(PeerLoss, fails_what_waits_and_nothing_else) {
    Side a(GetParam()), b(GetParam()), c(GetParam());
    Link ab = connect(a, b), ba = connect(b, a), ac = connect(a, c);
    std::vector<unsigned char> data(kLarge);
    Request* s = send(*ab.send.get(), data.data(), kLarge, 1);
    Request* small = receive(*ba.recv.get(), data.data(), 10, 1);
    Request* large = receive(*ba.recv.get(), data.data(), kLarge, 2);
    lose(a, b.ofi().name());
    for (const Outcome& end : finish({s, small, large})) EXPECT_EQ(end.result, ncclRemoteError);
    EXPECT_FALSE(ab.send->isend(data.data(), 8, 1, nullptr).has_value());
    EXPECT_EQ(log.with("peer lost").size(), 1u) << log.dump();
    std::vector<unsigned char> in(kLarge);
    (void)finish({send(*ac.send.get(), data.data(), kLarge, 1),
                  receive(*ac.recv.get(), in.data(), kLarge, 1)});
    EXPECT_EQ(in, data);
    EXPECT_LE(ab.send.close(), patience(kSecond));
    EXPECT_LE(ba.recv.close(), patience(kSecond));
}

// A closed receive comm that still takes in announced data leaves the list of users when the peer
// is lost.
TEST_P(PeerLoss, reaches_every_comm_behind_a_closed_one) {
    Side side(GetParam());
    WireNode node(GetParam());
    WireSender closing = wire_sender(node, side);
    std::vector<unsigned char> in(kLarge);
    (void)receive(*closing.recv.get(), in.data(), kLarge, 1);
    until("an announcement", [&] {
        side.poll();
        return closing.link->announcements().size() == 1;
    });
    closing.recv.close();
    std::vector<WireSender> others;
    std::vector<Request*> waiting;
    for (int i = 0; i < 4; ++i) {
        others.push_back(wire_sender(node, side));
        waiting.push_back(receive(*others.back().recv.get(), in.data(), 10, 1));
    }
    lose(side, node.ofi().name());
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        int done = 0;
        EXPECT_EQ(test_request(waiting[i], &done, nullptr), ncclRemoteError)
            << "comm " << i << " was not told";
    }
    EXPECT_EQ(log.with("peer lost").size(), 1u) << log.dump();
}

// An endpoint says goodbye when it closes. A connection that it left open can have no more data.
TEST_P(PeerLoss, a_goodbye_ends_connections_that_were_not_closed) {
    Side side(GetParam());
    auto node = std::make_optional<WireNode>(GetParam());
    WireSender in_use = wire_sender(*node, side);
    WireReceiver out = wire_receiver(*node, side, GetParam());
    std::vector<unsigned char> data(kLarge);
    Request* r = receive(*in_use.recv.get(), data.data(), 10, 1);
    Request* s = send(*out.send.get(), data.data(), kLarge, 1);
    in_use.link.reset();
    out.link.reset();
    node.reset();
    for (const Outcome& end : finish({r, s}, kToldWithin)) EXPECT_EQ(end.result, ncclRemoteError);
}

// The caller drops a connect attempt half-way; the accepting side still gets its comm, and must
// learn.
TEST_P(PeerLoss, an_attempt_given_up_before_the_answer_ends_the_accepted_comm) {
    Side a(GetParam()), b(GetParam());
    Listener listener = listen_on(b);
    {
        const auto step = a.take().connect(listener.handle, nullptr);
        ASSERT_TRUE(step.has_value());
        ASSERT_FALSE(step->ready);
        close(step->comm);
    }
    until("the request to arrive", [&] {
        a.poll();
        b.poll();
        const std::scoped_lock lock(b.ofi().mutex());
        return b.ofi().poll_count() > 200;
    });
    Owned<RecvComm> comm = accept_one(*listener.comm.get());
    std::vector<unsigned char> data(16);
    Request* request = receive(*comm.get(), data.data(), data.size(), 1);
    EXPECT_EQ(finish(request, kToldWithin).result, ncclRemoteError);
}

TEST_P(PeerLoss, data_that_came_before_the_loss_is_kept) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    const auto out = bytes_of(100, 4);
    std::vector<unsigned char> in(100);
    Request* r = receive(*link.recv.get(), in.data(), 100, 1);
    (void)finish(send(*link.send.get(), out.data(), 100, 1));
    until("the message", [&] {
        a.poll();
        b.poll();
        return !r->pending();
    });
    lose(b, a.ofi().name());
    EXPECT_EQ(finish(r).sizes, std::vector<int>{100});
    EXPECT_EQ(in, out);
}

DUOFI_OVER_PROVIDERS(PeerLoss);

}  // namespace
}  // namespace duofi::net::comm_test
