// What a receive comm says and answers: announcements and demands (docs/net-protocol.md).
#include "tests/unit/net_plugin/sendrecv/wire_fixture.hpp"

namespace duofi::net::comm_test {
namespace {

class ReceiverWire : public OverWire<WireSender> {
  protected:
    Request* post(std::size_t size, int tag) {
        return receive(*peer.recv.get(), in.data(), size, tag);
    }
    void want(int tag, std::uint32_t index) {
        peer.link->send(MessageKind::net_want, static_cast<std::uint32_t>(tag), index);
    }
    std::vector<Announcement> announced(std::size_t count) {
        until("announcements", [&] { return pump(1).size() >= count; });
        return peer.link->announcements();
    }
    std::vector<Announcement> pump(int rounds) {
        OverWire::pump(rounds);
        return peer.link->announcements();
    }
    void deliver(const Announcement& a, std::span<const unsigned char> data) {
        EXPECT_EQ(peer.link->send_data(data_tag(peer.link->remote_port(), a.sequence), data), 0);
    }
    std::vector<unsigned char> in = std::vector<unsigned char>(kLarge);
};

TEST_P(ReceiverWire, a_large_receive_is_announced_and_filled) {
    Request* request = post(kLarge, -7);
    const auto told = announced(1);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].tag, -7);
    EXPECT_EQ(told[0].index, 0u);
    EXPECT_EQ(told[0].size, kLarge);
    EXPECT_EQ(told[0].targets, 0u);
    const auto out = bytes_of(15000, 3);
    deliver(told[0], out);
    EXPECT_EQ(finish(request).sizes, std::vector<int>{15000});
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
}

TEST_P(ReceiverWire, a_small_receive_is_announced_only_when_asked_for) {
    Request* request = post(100, 1);
    EXPECT_TRUE(pump(100).empty());
    want(1, 0);
    const auto told = announced(1);
    EXPECT_EQ(told[0].size, 100u);
    want(1, 0);  // asked again meanwhile
    EXPECT_EQ(pump(100).size(), 1u);
    const auto out = bytes_of(100, 3);
    deliver(told[0], out);
    EXPECT_EQ(finish(request).sizes, std::vector<int>{100});
    want(1, 0);  // a late one, for a receive that is over
    EXPECT_EQ(pump(100).size(), 1u);
}

TEST_P(ReceiverWire, a_demand_ahead_of_its_receive_is_kept) {
    want(1, 1);
    want(1, 1);
    want(2, 0);
    (void)pump(50);
    Request* first = post(10, 1);
    EXPECT_TRUE(pump(50).empty()) << "index 0 was not asked for";
    Request* second = post(10, 1);
    const auto told = announced(1);
    EXPECT_EQ(told[0].index, 1u);
    EXPECT_EQ(pump(50).size(), 1u);
    const auto out = bytes_of(10, 5);
    deliver(told[0], out);
    peer.link->eager(1, 0, out);
    EXPECT_EQ(finish({first, second})[0].sizes, std::vector<int>{10});
}

TEST_P(ReceiverWire, small_messages_into_large_buffers_stop_the_announcements) {
    const auto out = bytes_of(40, 5);
    Request* first = post(kLarge, 1);
    EXPECT_EQ(announced(1).size(), 1u);
    peer.link->eager(1, 0, out);
    EXPECT_EQ(finish(first).sizes, std::vector<int>{40})
        << "done once the provider gave the receive back";
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
    for (std::uint32_t i = 1; i < 20; ++i) {
        Request* next = post(kLarge, 1);
        (void)pump(3);
        peer.link->eager(1, i, out);
        EXPECT_EQ(finish(next).sizes, std::vector<int>{40});
    }
    EXPECT_EQ(pump(50).size(), 1u) << "each of these would have been for nothing";
    Request* large = post(kLarge, 1);
    EXPECT_EQ(pump(50).size(), 1u);
    want(1, 20);
    const auto told = announced(2);
    EXPECT_EQ(told[1].index, 20u);
    const auto long_out = bytes_of(kLarge, 8);
    deliver(told[1], long_out);
    EXPECT_EQ(finish(large).sizes, std::vector<int>{static_cast<int>(kLarge)});
    Request* after = post(kLarge, 1);  // from here on large ones are expected again
    EXPECT_EQ(announced(3).size(), 3u);
    deliver(peer.link->announcements()[2], long_out);
    (void)finish(after);
}

TEST_P(ReceiverWire, a_receive_given_back_takes_no_data_any_more) {
    Request* first = post(kLarge, 1);
    const auto told = announced(1);
    peer.link->eager(1, 0, bytes_of(40, 5));
    (void)finish(first);
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0xcc));
    // A sender against the protocol: data for a receive it has already filled. It finds nobody.
    const std::vector<unsigned char> stray(64, 0x11);
    (void)peer.link->send_data(data_tag(peer.link->remote_port(), told[0].sequence), stray);
    (void)pump(200);
    EXPECT_EQ(in, std::vector<unsigned char>(kLarge, 0xcc)) << "written into memory of the caller";
}

TEST_P(ReceiverWire, a_group_is_announced_together) {
    std::vector<std::vector<unsigned char>> buffers(8, std::vector<unsigned char>(9000));
    std::vector<RecvBuffer> group;
    for (int i = 0; i < 8; ++i)
        group.push_back({buffers[static_cast<std::size_t>(i)].data(), 9000, i / 2});
    Request* request = receive(*peer.recv.get(), group);
    const auto told = announced(8);
    EXPECT_EQ(peer.link->all(MessageKind::net_announce).size(), 1u) << "one message for all";
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(told[i].tag, static_cast<int>(i / 2));
        EXPECT_EQ(told[i].index, i % 2);
    }
    for (std::size_t i = 8; i-- > 0;)
        deliver(told[i], bytes_of(8500 + i, static_cast<unsigned>(i)));
    EXPECT_EQ(finish(request).sizes,
              std::vector<int>({8500, 8501, 8502, 8503, 8504, 8505, 8506, 8507}));
}

// More than one message can announce, and more than some providers take at a time.
TEST_P(ReceiverWire, every_receive_is_announced_in_turn) {
    std::vector<Request*> requests;
    for (std::size_t i = 0; i < kMaxRecvRequests; ++i) {
        std::vector<RecvBuffer> group(8, {in.data(), 8193, 1});
        requests.push_back(receive(*peer.recv.get(), group));
    }
    const auto out = bytes_of(10, 1);
    for (std::uint32_t i = 0; i < 8 * kMaxRecvRequests; ++i) {
        const auto told = announced(i + 1);
        ASSERT_EQ(told[i].index, i);
        deliver(told[i], out);
    }
    for (const Outcome& end : finish(requests)) EXPECT_EQ(end.sizes, std::vector<int>(8, 10));
}

TEST_P(ReceiverWire, messages_of_unknown_kind_or_cut_short_are_ignored) {
    peer.link->send(static_cast<MessageKind>(999), 1, 2, std::as_bytes(std::span(in).first(100)));
    peer.link->send(MessageKind::net_credit, 0, 5);  // a receive comm has no use for these
    peer.link->send(MessageKind::net_announce, 0, 0, std::as_bytes(std::span(in).first(23)));
    peer.link->send(MessageKind::welcome, 0, 0);
    peer.link->send(MessageKind::refuse, 1, 0);
    const auto out = bytes_of(10, 5);
    peer.link->eager(1, 0, out);
    EXPECT_EQ(finish(post(10, 1)).sizes, std::vector<int>{10});
}

DUOFI_OVER_PROVIDERS(ReceiverWire);

}  // namespace
}  // namespace duofi::net::comm_test
