// Eager messages within credits (P13: what nobody receives must not pile up).
#include "tests/unit/net_plugin/sendrecv/wire_node.hpp"

namespace duofi::net::comm_test {
namespace {

class Credits : public OverProvider {};

std::size_t count_done(const std::vector<Request*>& requests) {
    std::size_t done = 0;
    for (const Request* request : requests)
        done += request->state.load() == RequestState::done ? 1 : 0;
    return done;
}

TEST_P(Credits, unmatched_sends_stop_at_64_and_drain_in_order) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    std::vector<std::vector<unsigned char>> out;
    std::vector<Request*> sends;
    for (unsigned i = 0; i < 200; ++i) {
        out.push_back(bytes_of(i * 40, i));
        sends.push_back(send(*link.send.get(), out[i].data(), out[i].size(), 1));
    }
    until("64 eager sends", [&] {
        a.poll();
        b.poll();
        return count_done(sends) >= kEagerCredits;
    });
    for (int i = 0; i < 200; ++i) {
        a.poll();
        b.poll();
    }
    EXPECT_EQ(count_done(sends), kEagerCredits) << "sent without a credit";
    std::vector<unsigned char> in(8192);
    for (unsigned i = 0; i < 200; ++i) {
        Request* r = receive(*link.recv.get(), in.data(), in.size(), 1);
        ASSERT_EQ(finish({sends[i], r})[1].sizes,
                  std::vector<int>{static_cast<int>(out[i].size())});
        ASSERT_TRUE(std::equal(out[i].begin(), out[i].end(), in.begin())) << i;
    }
    EXPECT_TRUE(log.all().empty()) << log.dump();
}

TEST_P(Credits, large_sends_need_none) {
    Side a(GetParam()), b(GetParam());
    Link link = connect(a, b);
    const auto small = bytes_of(64, 1), large = bytes_of(40000, 2);
    std::vector<Request*> blocked;
    for (int i = 0; i < 100; ++i)
        blocked.push_back(send(*link.send.get(), small.data(), small.size(), 1));
    std::vector<unsigned char> in(40000);
    Request* s = send(*link.send.get(), large.data(), large.size(), 2);
    (void)finish({s, receive(*link.recv.get(), in.data(), in.size(), 2)});
    EXPECT_EQ(in, large);
    for (Request* request : blocked)
        (void)finish({request, receive(*link.recv.get(), in.data(), 64, 1)});
}

TEST_P(Credits, the_senders_limit_is_what_the_welcome_says) {
    Side side(GetParam());
    WireNode node(GetParam());
    WireReceiver receiver = wire_receiver(node, side, GetParam(), 8192, 3);
    const auto data = bytes_of(16, 1);
    std::vector<Request*> sends;
    for (int i = 0; i < 10; ++i) sends.push_back(send(*receiver.send.get(), data.data(), 16, 1));
    EXPECT_EQ(receiver.link->wait_for(MessageKind::net_eager, 3).size(), 3u);
    const auto settle = [&] {
        for (int i = 0; i < 50; ++i) {
            side.poll();
            node.poll();
        }
        return receiver.link->all(MessageKind::net_eager).size();
    };
    EXPECT_EQ(settle(), 3u);
    receiver.link->send(MessageKind::net_credit, 0, 1000);  // more than was sent: not believed
    EXPECT_EQ(settle(), 3u);
    receiver.link->send(MessageKind::net_credit, 0, 2);
    EXPECT_EQ(receiver.link->wait_for(MessageKind::net_eager, 5).size(), 5u);
    receiver.link->send(MessageKind::net_credit, 0, 1);  // older than the last word
    EXPECT_EQ(settle(), 5u);
    receiver.link->send(MessageKind::net_credit, 0, 5);
    (void)receiver.link->wait_for(MessageKind::net_eager, 8);
    EXPECT_EQ(settle(), 8u);
    receiver.link->send(MessageKind::net_credit, 0, 8);
    const auto all = receiver.link->wait_for(MessageKind::net_eager, 10);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].header.value, i) << "order of the tag";
        EXPECT_EQ(all[i].header.word, 1u);
    }
    (void)finish(sends);
}

TEST_P(Credits, the_receiver_gives_them_back_in_halves) {
    Side side(GetParam());
    WireNode node(GetParam());
    WireSender sender = wire_sender(node, side);
    const auto data = bytes_of(8, 1);
    std::vector<unsigned char> in(8);
    for (std::uint32_t i = 0; i < 100; ++i) {
        sender.link->eager(1, i, data);
        (void)finish(receive(*sender.recv.get(), in.data(), in.size(), 1));
    }
    const auto credits = sender.link->wait_for(MessageKind::net_credit, 3);
    ASSERT_EQ(credits.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(credits[i].header.value, 32 * (i + 1));
}

TEST_P(Credits, a_sender_that_ignores_them_is_cut_off) {
    Side side(GetParam());
    WireNode node(GetParam());
    WireSender honest = wire_sender(node, side);
    WireSender sender = wire_sender(node, side);
    const auto data = bytes_of(8, 1);
    for (std::uint32_t i = 0; i <= kEagerCredits; ++i) sender.link->eager(1, i, data);
    until("the violation to be told", [&] {
        node.poll();
        side.poll();
        return !log.with("more eager messages than credits").empty();
    });
    std::vector<unsigned char> in(8);
    const RecvBuffer buffer{in.data(), in.size(), 1, nullptr};
    EXPECT_FALSE(sender.recv->irecv(&buffer, 1).has_value());
    EXPECT_EQ(log.all().size(), 1u) << log.dump();
    honest.link->eager(1, 0, data);  // its neighbour does not suffer
    EXPECT_EQ(finish(receive(*honest.recv.get(), in.data(), in.size(), 1)).sizes,
              std::vector<int>{8});
    EXPECT_EQ(in, data);
}

DUOFI_OVER_PROVIDERS(Credits);

}  // namespace
}  // namespace duofi::net::comm_test
