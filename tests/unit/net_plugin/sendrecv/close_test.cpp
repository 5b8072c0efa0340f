// Units: net_plugin/sendrecv/late_receives, net_plugin/comms/recv_connection,
// net_plugin/comms/send_connection, net_plugin/comms/listen_comm.
// Ends of connections: what was sent arrives, what cannot come any more fails, neighbours go on
// (net contract 3.7).
#include <future>

#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {
namespace {

constexpr std::size_t kLarge = 20000;
constexpr Nanoseconds kCloseBound = patience(kSecond);

class Closing : public OverProvider {};

TEST_P(Closing, what_was_sent_arrives_and_the_rest_fails) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    const auto out = bytes_of(500, 1);
    std::vector<unsigned char> in(kLarge);
    std::vector<Request*> sends;
    for (int i = 0; i < 10; ++i) sends.push_back(send(*link.send.get(), out.data(), out.size(), 1));
    (void)finish(sends);
    EXPECT_LE(link.send.close(), kCloseBound);
    for (int i = 0; i < 10; ++i) {
        std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
        EXPECT_EQ(finish(receive(*link.recv.get(), in.data(), in.size(), 1)).sizes,
                  std::vector<int>{500});
        EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
    }
    EXPECT_EQ(finish(receive(*link.recv.get(), in.data(), 100, 1)).result, ncclRemoteError);
    EXPECT_EQ(finish(receive(*link.recv.get(), in.data(), kLarge, 1)).result, ncclRemoteError);
    EXPECT_LE(link.recv.close(), kCloseBound);
    EXPECT_TRUE(log.all().empty()) << log.dump();
}

TEST_P(Closing, of_the_sender_fails_every_receive_that_waits) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    std::vector<unsigned char> in(kLarge);
    std::vector<Request*> receives = {
        receive(*link.recv.get(), in.data(), 100, 1),
        receive(*link.recv.get(), in.data(), kLarge, 2),
        receive(*link.recv.get(), {{in.data(), 10, 3}, {in.data(), kLarge, 3}, {in.data(), 10, 4}}),
    };
    const auto out = bytes_of(10, 1);
    (void)finish(send(*link.send.get(), out.data(), 10, 3));  // one part of the group
    link.send.close();
    for (const Outcome& end : finish(receives)) EXPECT_EQ(end.result, ncclRemoteError);
    EXPECT_EQ(finish(receive(*link.recv.get(), in.data(), 1, 1)).result, ncclRemoteError);
    EXPECT_TRUE(log.all().empty()) << log.dump();
}

TEST_P(Closing, with_traffic_under_way_is_short_in_either_order) {
    for (const bool sender_first : {true, false}) {
        Side a(GetParam()), b(GetParam());
        Link link = connect(a, b), other = connect(a, b);
        const auto out = bytes_of(kLarge, 1);
        std::vector<unsigned char> in(kLarge);
        for (int i = 0; i < 20; ++i) {
            (void)send(*link.send.get(), out.data(), i % 2 == 0 ? kLarge : 30, 1);
            if (i < 10) (void)receive(*link.recv.get(), in.data(), kLarge, 1);
        }
        a.poll();
        if (sender_first) {
            EXPECT_LE(link.send.close(), kCloseBound);
        }
        EXPECT_LE(link.recv.close(), kCloseBound);
        std::fill(in.begin(), in.end(), static_cast<unsigned char>(0xcc));
        if (!sender_first) {
            EXPECT_LE(link.send.close(), kCloseBound);
        }
        std::vector<unsigned char> got(kLarge);
        (void)finish({send(*other.send.get(), out.data(), kLarge, 1),
                      receive(*other.recv.get(), got.data(), kLarge, 1)});
        EXPECT_EQ(got, out);
        EXPECT_EQ(in, std::vector<unsigned char>(kLarge, 0xcc)) << "written after the close";
    }
}

// The sender got the announcements and sends although the receiver has closed: LateReceives takes
// it in.
TEST_P(Closing, of_the_receiver_with_announced_receives_keeps_the_connection_usable) {
    Side side(GetParam());
    WireNode node(GetParam());
    WireSender closing = wire_sender(node, side);
    WireSender other = wire_sender(node, side);
    std::vector<unsigned char> in(kLarge, 0xcc);
    for (int i = 0; i < 3; ++i) (void)receive(*closing.recv.get(), in.data(), kLarge, 1);
    until("announcements", [&] {
        side.poll();
        return closing.link->announcements().size() == 3;
    });
    const auto told = closing.link->announcements();
    const std::uint32_t port = closing.link->remote_port();
    EXPECT_LE(closing.recv.close(), kCloseBound);
    EXPECT_EQ(closing.link->wait_for(MessageKind::net_close).size(), 1u);
    const auto out = bytes_of(kLarge, 1);
    for (const Announcement& a : told)
        EXPECT_EQ(closing.link->send_data(data_tag(port, a.sequence), out), 0);
    EXPECT_EQ(in, std::vector<unsigned char>(kLarge, 0xcc));
    const auto small = bytes_of(100, 2);
    other.link->eager(1, 0, small);
    EXPECT_EQ(finish(receive(*other.recv.get(), in.data(), 100, 1)).sizes, std::vector<int>{100});
    Request* large = receive(*other.recv.get(), in.data(), kLarge, 2);
    until("an announcement", [&] {
        side.poll();
        return other.link->announcements().size() == 1;
    });
    EXPECT_EQ(
        other.link->send_data(
            data_tag(other.link->remote_port(), other.link->announcements()[0].sequence), out),
        0);
    EXPECT_EQ(finish(large).sizes, std::vector<int>{static_cast<int>(kLarge)});
    EXPECT_EQ(in, out);
    closing.link->send(MessageKind::net_close, 0, 0);
}

TEST_P(Closing, of_the_receiver_and_a_sender_that_closes_without_sending) {
    Side side(GetParam());
    WireNode node(GetParam());
    for (int round = 0; round < 5; ++round) {
        WireSender peer = wire_sender(node, side);
        std::vector<unsigned char> in(kLarge);
        (void)receive(*peer.recv.get(), in.data(), kLarge, 1);
        until("an announcement", [&] {
            side.poll();
            return peer.link->announcements().size() == 1;
        });
        EXPECT_LE(peer.recv.close(), kCloseBound);
        peer.link->send(MessageKind::net_close, 0, 0);
        for (int i = 0; i < 20; ++i) {
            node.poll();
            side.poll();
        }
    }
}

TEST_P(Closing, many_rounds_on_one_pair_of_endpoints) {
    Side a(GetParam()), b(GetParam());
    const auto out = bytes_of(kLarge, 1);
    for (int round = 0; round < 40; ++round) {
        Link link = connect(a, b);
        std::vector<unsigned char> in(kLarge);
        const std::size_t size = round % 2 == 0 ? kLarge : 64;
        Request* r = receive(*link.recv.get(), in.data(), kLarge, round);
        const auto ends = finish({send(*link.send.get(), out.data(), size, round), r});
        ASSERT_EQ(ends[1].sizes, std::vector<int>{static_cast<int>(size)});
        if (round % 3 == 0) link.recv.close();
    }
    EXPECT_TRUE(log.all().empty()) << log.dump();
}

// The close must not overtake the completion of what was received: the data has arrived.
TEST_P(Closing, of_the_receiver_right_after_its_data_never_fails_the_send) {
    Side a(GetParam()), b(GetParam());
    const auto out = bytes_of(200000, 1);
    for (int round = 0; round < 150; ++round) {
        Link link = connect(a, b);
        std::vector<unsigned char> in(out.size());
        auto receiver = std::async(std::launch::async, [&] {
            const Outcome end = finish(receive(*link.recv.get(), in.data(), in.size(), 1));
            link.recv.close();
            return end;
        });
        const Outcome sent = finish(send(*link.send.get(), out.data(), out.size(), 1));
        EXPECT_EQ(receiver.get().sizes, std::vector<int>{200000});
        ASSERT_EQ(sent.result, ncclSuccess) << "round " << round;
        ASSERT_EQ(in, out);
    }
}

TEST_P(Closing, a_stale_request_of_a_closed_comm_is_told) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    std::vector<unsigned char> data(kLarge);
    Request* s = send(*link.send.get(), data.data(), kLarge, 1);
    Request* r = receive(*link.recv.get(), data.data(), 10, 2);
    link.send.close();
    link.recv.close();
    int done = 1;
    EXPECT_EQ(test_request(s, &done, nullptr), ncclInvalidUsage);
    EXPECT_EQ(test_request(r, &done, nullptr), ncclInvalidUsage);
    EXPECT_EQ(done, 0);
}

DUOFI_OVER_PROVIDERS(Closing);

}  // namespace
}  // namespace duofi::net::comm_test
