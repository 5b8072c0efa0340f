// What a send comm says and answers: demands, and large sends cut to what was announced.
#include "tests/unit/net_plugin/sendrecv/wire_fixture.hpp"

namespace duofi::net::comm_test {
namespace {

class SenderWire : public OverWire<WireReceiver> {
  protected:
    Request* post(std::size_t size, int tag) {
        return send(*peer.send.get(), out.data(), size, tag);
    }
    Announcement offer(int tag, std::uint32_t index, std::uint64_t size) {
        return {tag, index, size, next_sequence++, 0};
    }
    std::size_t wants(Request* tested = nullptr) {
        if (tested != nullptr) {
            int done = 0;
            EXPECT_EQ(test_request(tested, &done, nullptr), ncclSuccess);
        }
        return peer.link->all(MessageKind::net_want).size();
    }
    /// Takes the large send that answers `a`; its length.
    std::size_t take(const Announcement& a, std::vector<unsigned char>& in) {
        peer.link->post_data_receive(data_tag(peer.link->port(), a.sequence), in);
        peer.link->announce({a});
        std::size_t length = 0;
        until("the data", [&] {
            side->poll();
            length = peer.link->wait_for_data();
            return true;
        });
        return length;
    }
    std::uint32_t next_sequence = 40;
    std::vector<unsigned char> out = bytes_of(kLarge, 3);
};

TEST_P(SenderWire, a_small_send_goes_at_once_with_tag_and_index) {
    Request* first = post(16, -9);
    Request* second = post(0, -9);
    const auto got = peer.link->wait_for(MessageKind::net_eager, 2);
    EXPECT_EQ(static_cast<int>(got[0].header.word), -9);
    EXPECT_EQ(got[0].header.value, 0u);
    ASSERT_EQ(got[0].payload.size(), 16u);
    EXPECT_EQ(std::memcmp(got[0].payload.data(), out.data(), 16), 0);
    EXPECT_EQ(got[1].header.value, 1u);
    EXPECT_TRUE(got[1].payload.empty());
    (void)finish({first, second});
}

TEST_P(SenderWire, a_large_send_asks_after_a_millisecond_and_again_later) {
    Request* request = post(kLarge, 4);
    EXPECT_EQ(wants(), 0u) << "the receiver is expected to announce by itself";
    until("a demand", [&] { return wants(request) >= 1; });
    until("a second one", [&] { return wants(request) >= 2; });
    for (const WireMessage& want : peer.link->all(MessageKind::net_want)) {
        EXPECT_EQ(want.header.word, 4u);
        EXPECT_EQ(want.header.value, 0u);
    }
    std::vector<unsigned char> in(kLarge);
    EXPECT_EQ(take(offer(4, 0, kLarge), in), kLarge);
    EXPECT_EQ(in, out);
    EXPECT_EQ(finish(request).sizes, std::vector<int>{static_cast<int>(kLarge)});
    EXPECT_TRUE(peer.link->all(MessageKind::net_eager).empty());
}

TEST_P(SenderWire, a_large_send_after_a_small_one_asks_at_once) {
    Request* small = post(8, 1);
    Request* request = post(kLarge, 1);
    pump(2);
    const auto asked = peer.link->wait_for(MessageKind::net_want);
    EXPECT_EQ(asked[0].header.value, 1u);
    std::vector<unsigned char> in(kLarge);
    EXPECT_EQ(take(offer(1, 1, kLarge), in), kLarge);
    (void)finish({small, request});
}

TEST_P(SenderWire, a_large_send_is_cut_to_the_announced_size) {
    Request* request = post(kLarge, 1);
    std::vector<unsigned char> in(64, 0xcc);
    EXPECT_EQ(take(offer(1, 0, 50), in), 50u);
    EXPECT_EQ(in[50], 0xcc);
    EXPECT_EQ(finish(request).sizes, std::vector<int>{50});
}

TEST_P(SenderWire, announcements_may_come_first_and_in_any_order) {
    const Announcement b = offer(1, 1, kLarge), a = offer(1, 0, kLarge);
    peer.link->announce({b, a});
    pump(20);
    std::vector<unsigned char> in(kLarge);
    for (const Announcement& expected : {a, b}) {
        peer.link->post_data_receive(data_tag(peer.link->port(), expected.sequence), in);
        Request* request = post(kLarge, 1);
        EXPECT_EQ(peer.link->wait_for_data(), kLarge);
        (void)finish(request);
    }
    EXPECT_EQ(wants(), 0u);
}

TEST_P(SenderWire, an_announcement_for_a_small_send_is_forgotten) {
    peer.link->announce({offer(1, 0, kLarge)});
    pump(20);
    Request* small = post(8, 1);
    EXPECT_EQ(peer.link->wait_for(MessageKind::net_eager).size(), 1u);
    peer.link->announce({offer(1, 0, kLarge)});  // and one that crosses it on the way
    pump(20);
    Request* request = post(kLarge, 1);
    std::vector<unsigned char> in(kLarge);
    const Announcement right = offer(1, 1, kLarge);
    EXPECT_EQ(take(right, in), kLarge);
    (void)finish({small, request});
}

TEST_P(SenderWire, nonsense_from_the_peer_changes_nothing) {
    Request* request = post(kLarge, 1);
    peer.link->announce({offer(2, 0, 10), offer(1, 7, 10)});
    const Announcement right = offer(1, 0, kLarge);
    peer.link->send(MessageKind::net_announce, 0, 0, std::as_bytes(std::span(&right, 1)).first(23));
    peer.link->send(static_cast<MessageKind>(77), 0, 0);
    peer.link->send(MessageKind::net_credit, 0, ~std::uint64_t{0});
    peer.link->send(MessageKind::welcome, 0, 0);
    peer.link->send(MessageKind::refuse, 1, 0);
    pump(50);
    EXPECT_TRUE(request->pending());
    std::vector<unsigned char> in(kLarge);
    EXPECT_EQ(take(right, in), kLarge);
    (void)finish(request);
}

TEST_P(SenderWire, a_flood_of_announcements_is_bounded) {
    std::vector<Announcement> flood;
    for (std::uint32_t i = 0; i < 300; ++i) flood.push_back(offer(1, 100000 + i, 1));
    for (int i = 0; i < 100; ++i) {
        peer.link->announce(flood);
        pump(2);
    }
    Request* request = post(kLarge, 2);
    std::vector<unsigned char> in(kLarge);
    EXPECT_EQ(take(offer(2, 0, kLarge), in), kLarge);
    (void)finish(request);
}

TEST_P(SenderWire, the_close_names_the_number_of_eager_messages) {
    std::vector<Request*> sends;
    for (int i = 0; i < 5; ++i) sends.push_back(post(8, i));
    (void)finish(sends);
    peer.send.close();
    const auto closed = peer.link->wait_for(MessageKind::net_close);
    EXPECT_EQ(closed[0].header.value, 5u);
    EXPECT_EQ(peer.link->all(MessageKind::net_eager).size(), 5u) << "nothing is lost by the close";
}

TEST_P(SenderWire, sends_fail_once_the_receiver_has_closed) {
    Request* request = post(kLarge, 1);
    peer.link->send(MessageKind::net_close, 0, 0);
    EXPECT_EQ(finish(request).result, ncclRemoteError);
    const auto later = peer.send->isend(out.data(), 8, 1, nullptr);
    ASSERT_FALSE(later.has_value());
    EXPECT_EQ(later.error().code, Errc::remote);
}

DUOFI_OVER_PROVIDERS(SenderWire);

}  // namespace
}  // namespace duofi::net::comm_test
