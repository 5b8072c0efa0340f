// What waits for the next packet to a peer, common/ofi/post.cpp (architecture 4.5: announcements ride on
// other traffic).
#include <functional>

#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

class Flush : public EndpointTest {
  protected:
    void SetUp() override { open(); }

    /// Sends one credit message per flush, as comms do.
    struct Credit final : ofi::Flushable {
        Credit(ofi::Endpoint& e, ofi::Peer& p, std::uint64_t v) : endpoint(e), to(p), value(v) {}
        void flush() noexcept override {
            ++flushed;
            ofi::MessageHeader header;
            header.kind = static_cast<std::uint16_t>(ofi::MessageKind::net_credit);
            header.port = 1;
            header.value = value;
            endpoint.send_message(to, header, {});
            if (also) also();
        }
        ofi::Endpoint& endpoint;
        ofi::Peer& to;
        std::uint64_t value;
        int flushed = 0;
        std::function<void()> also;
    };
};

TEST_F(Flush, HappensAtTheNextPollWithoutOtherTraffic) {
    ofi::Peer& to = peer();
    Credit credit(*endpoint_, to, 5);
    endpoint_->mark_dirty(to, credit);
    EXPECT_TRUE(endpoint_->wants_poll());
    EXPECT_TRUE(endpoint_->owes_progress());
    EXPECT_EQ(fake_->sent_count(), 0U);
    poll();
    EXPECT_EQ(credit.flushed, 1);
    EXPECT_EQ(count_kind(*fake_, kRemote, ofi::MessageKind::net_credit), 1);
    poll(3);
    EXPECT_EQ(credit.flushed, 1) << "once per mark";
    EXPECT_FALSE(endpoint_->owes_progress());
}

TEST_F(Flush, RidesOnThePacketThatLeaves) {
    ofi::Peer& to = peer();
    Credit credit(*endpoint_, to, 5);
    endpoint_->mark_dirty(to, credit);
    endpoint_->mark_dirty(to, credit);  // no second time
    ASSERT_TRUE(send(to, 1));
    EXPECT_EQ(credit.flushed, 1);
    ASSERT_EQ(fake_->sent_count(), 1U) << "one packet for both";
    EXPECT_EQ(messages_of(fake_->sent()[0].bytes).size(), 2U);
}

TEST_F(Flush, CallsEachOneOnceBeforeTheMessageIsGone) {
    ofi::Peer& to = peer();
    Credit first(*endpoint_, to, 5), second(*endpoint_, to, 6), third(*endpoint_, to, 7);
    for (Credit* credit : {&first, &second, &third, &first}) endpoint_->mark_dirty(to, *credit);
    ASSERT_TRUE(send(to, 1));
    for (const Credit* credit : {&first, &second, &third}) EXPECT_EQ(credit->flushed, 1);
    EXPECT_EQ(messages_to(*fake_, kRemote).size(), 4U);
    EXPECT_LE(fake_->sent_count(), 2U);
}

TEST_F(Flush, ComesBeforeThePacketThatWaitsForAPoll) {
    ofi::Peer& to = peer();
    Credit credit(*endpoint_, to, 5);
    fake_->hold_sends(true);
    ASSERT_TRUE(send(to, 1));
    ASSERT_TRUE(send(to, 2));
    endpoint_->mark_dirty(to, credit);
    poll();
    ASSERT_EQ(fake_->sent_count(), 2U);
    EXPECT_EQ(messages_of(fake_->sent()[1].bytes).size(), 2U);
    EXPECT_EQ(count_kind(*fake_, kRemote, ofi::MessageKind::net_credit), 1);
}

TEST_F(Flush, MayMarkItselfAgain) {
    ofi::Peer& to = peer();
    Credit credit(*endpoint_, to, 5);
    credit.also = [&] {
        if (credit.flushed < 3) endpoint_->mark_dirty(to, credit);
    };
    endpoint_->mark_dirty(to, credit);
    poll(10);
    EXPECT_EQ(credit.flushed, 3);
    EXPECT_FALSE(endpoint_->owes_progress());
}

TEST_F(Flush, AForgottenObjectIsNotFlushed) {
    ofi::Peer& to = peer();
    Credit kept(*endpoint_, to, 5), other(*endpoint_, to, 6);
    {
        Credit gone(*endpoint_, to, 7);
        endpoint_->mark_dirty(to, kept);
        endpoint_->mark_dirty(to, gone);
        endpoint_->mark_dirty(to, other);
        endpoint_->forget_dirty(to, gone);
    }
    poll();
    EXPECT_EQ(kept.flushed + other.flushed, 2);
    EXPECT_EQ(messages_to(*fake_, kRemote).size(), 2U);
}

/// One that ends another while both wait: the other must not be called any more.
TEST_F(Flush, AnObjectForgottenDuringAFlushIsNotFlushed) {
    ofi::Peer& to = peer();
    Credit a(*endpoint_, to, 5), b(*endpoint_, to, 6);
    a.also = [&] { endpoint_->forget_dirty(to, b); };
    b.also = [&] { endpoint_->forget_dirty(to, a); };
    endpoint_->mark_dirty(to, a);
    endpoint_->mark_dirty(to, b);
    poll(2);
    EXPECT_EQ(a.flushed + b.flushed, 1) << "the one that was forgotten was called";
}

TEST_F(Flush, IsNotCalledForAPeerThatIsGone) {
    ofi::Peer& to = peer();
    Credit credit(*endpoint_, to, 5);
    endpoint_->mark_dirty(to, credit);
    endpoint_->lose_peer(to, "test");
    poll(2);
    EXPECT_EQ(credit.flushed, 0);
    EXPECT_EQ(fake_->sent_count(), 0U);
    EXPECT_FALSE(endpoint_->owes_progress());
    endpoint_->forget_dirty(to, credit);  // harmless
}

}  // namespace
}  // namespace duofi::test
