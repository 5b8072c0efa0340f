// Peers of an endpoint, common/ofi/address_book.cpp: one entry each, lost once, told once (architecture 4.8,
// reports A18, A20; P5, P11, P15).
#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::MessageKind;

class Peers : public EndpointTest {
  protected:
    void SetUp() override { open(); }
};

TEST_F(Peers, AnAddressIsInsertedOnce) {
    ofi::Peer& first = peer();
    ofi::Peer& second = peer();
    EXPECT_EQ(&first, &second);
    EXPECT_EQ(first.references, 2U);
    EXPECT_EQ(fabric_.inserts(), 1);
    endpoint_->release_peer(&first);
    endpoint_->release_peer(&first);
    EXPECT_EQ(fabric_.removes(), 0) << "data may still be on its way";
    EXPECT_EQ(&peer(), &first);
    EXPECT_EQ(fabric_.inserts(), 1);
}

TEST_F(Peers, ARefusedInsertGivesNoPeer) {
    Error reason;
    fabric_.fail_next("fi_av_insert", -FI_ENOMEM);
    EXPECT_EQ(endpoint_->acquire_peer(fake_name(kRemote), &reason), nullptr);
    EXPECT_EQ(log_.with("fi_av_insert").size(), 1U) << log_.dump();
    EXPECT_EQ(reason.code, Errc::no_memory) << "not the fault of the address";
    fabric_.fail_next("fi_av_insert", -FI_EINVAL);
    EXPECT_EQ(endpoint_->acquire_peer(fake_name(kRemote), &reason), nullptr);
    EXPECT_EQ(reason.code, Errc::invalid_argument);
    EXPECT_EQ(&peer(), &peer());
}

TEST_F(Peers, AnErrorCompletionLosesThePeerOnce) {
    ofi::Peer& to = peer();
    ofi::Peer& other = peer(1001);
    FakeUser first, second, elsewhere;
    endpoint_->add_user(to, first);
    endpoint_->add_user(to, second);
    endpoint_->add_user(other, elsewhere);
    fake_->hold_sends(true);
    for (std::uint64_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(send(to, i));
        poll();
    }
    while (fake_->in_flight() != 0) fake_->complete_send(0, FI_ECONNRESET);
    poll(5);
    EXPECT_TRUE(to.lost);
    EXPECT_EQ(first.lost, 1);
    EXPECT_EQ(second.lost, 1);
    EXPECT_EQ(elsewhere.lost, 0);
    EXPECT_FALSE(other.lost);
    EXPECT_EQ(to.in_flight, 0U);
    const auto lines = log_.with("peer lost");
    ASSERT_EQ(lines.size(), 1U) << log_.dump();
    EXPECT_EQ(lines[0].level, log::Level::warn);
    EXPECT_NE(lines[0].text.find("fake://1000"), std::string::npos);
    EXPECT_NE(lines[0].text.find(fi_strerror(FI_ECONNRESET)), std::string::npos);
    endpoint_->lose_peer(to, "again");
    EXPECT_EQ(first.lost, 1);
    EXPECT_EQ(log_.with("peer lost").size(), 1U);
    fake_->hold_sends(false);
    EXPECT_TRUE(send(other, 1)) << "the others work on";
    endpoint_->remove_user(to, first);
    endpoint_->remove_user(to, second);
    endpoint_->remove_user(other, elsewhere);
}

/// Nobody knows whose it was, and its receiver would wait for it for ever.
TEST_F(Peers, AMessageThatTheProviderLosesFailsAllWhoMightWaitForIt) {
    ofi::Peer& one = peer();
    ofi::Peer& other = peer(1001);
    FakeUser first, second;
    endpoint_->add_user(one, first);
    endpoint_->add_user(other, second);
    for (const int harmless : {FI_ECANCELED, FI_ECONNRESET, -FI_ENOTCONN}) {
        fake_->fail_receive(harmless);
        poll();
        EXPECT_FALSE(one.lost || other.lost) << harmless;
    }
    fake_->fail_receive(FI_EIO);
    poll();
    EXPECT_TRUE(one.gone() && other.gone());
    EXPECT_EQ(first.lost + second.lost, 2);
    EXPECT_EQ(fake_->sent_count(), 2U) << "each is told, and gives up its side";
    EXPECT_EQ(log_.with("lost a message").size(), 2U) << log_.dump();
    endpoint_->remove_user(one, first);
    endpoint_->remove_user(other, second);
}

TEST_F(Peers, AnErrorCodeOfTheWrongSignIsUnderstood) {
    ofi::Peer& to = peer();
    FakeUser user;
    endpoint_->add_user(to, user);
    fake_->hold_sends(true);
    ASSERT_TRUE(send(to, 0));
    fake_->complete_send(0, -FI_ETRUNC);
    poll();
    EXPECT_EQ(user.lost, 1);
    EXPECT_EQ(log_.with(fi_strerror(FI_ETRUNC)).size(), 1U) << log_.dump();
    endpoint_->remove_user(to, user);
}

TEST_F(Peers, TheErrorCodeOfALargeTransferIsPositive) {
    struct Large : ofi::Operation {
        ofi::Completion seen;
        int count = 0;
    } large;
    large.complete = [](ofi::Operation& op, const ofi::Completion& completion) noexcept {
        static_cast<Large&>(op).seen = completion;
        ++static_cast<Large&>(op).count;
    };
    ofi::Peer& to = peer();
    fake_->hold_sends(true);
    const Bytes data(64);
    ASSERT_EQ(endpoint_->post_tagged_send(to, data.data(), data.size(), nullptr, 5, large), ofi::Posted::yes);
    fake_->complete_send(0, -FI_ETRUNC);
    poll(2);
    EXPECT_EQ(large.count, 1);
    EXPECT_EQ(large.seen.error, FI_ETRUNC);
    --to.data_in_flight;
    ASSERT_EQ(endpoint_->post_tagged_send(to, data.data(), data.size(), nullptr, 6, large), ofi::Posted::yes);
    endpoint_->cancel(large);
    poll();
    EXPECT_EQ(large.count, 2);
    EXPECT_EQ(large.seen.error, FI_ECANCELED);
    --to.data_in_flight;
}

TEST_F(Peers, LargeSendsAreBoundedAndRefusedForALostPeer) {
    ofi::Operation operation;
    operation.complete = [](ofi::Operation&, const ofi::Completion&) noexcept {};
    ofi::Peer& to = peer();
    const auto post = [&] { return endpoint_->post_tagged_send(to, nullptr, 0, nullptr, 1, operation); };
    fake_->refuse_sends(2);
    EXPECT_EQ(post(), ofi::Posted::again);
    EXPECT_NE(to.blocked_since, 0);
    EXPECT_EQ(post(), ofi::Posted::again);
    for (std::uint32_t i = 0; i < ofi::Endpoint::kMaxInFlight; ++i) ASSERT_EQ(post(), ofi::Posted::yes);
    EXPECT_EQ(to.blocked_since, 0);
    EXPECT_EQ(post(), ofi::Posted::again);
    to.data_in_flight = 0;
    fake_->refuse_sends(1, -FI_ENOTCONN);
    EXPECT_EQ(post(), ofi::Posted::lost);
    EXPECT_TRUE(to.lost);
    EXPECT_EQ(post(), ofi::Posted::lost);
    EXPECT_EQ(endpoint_->post_tagged_receive(to, nullptr, 0, nullptr, 1, operation), ofi::Posted::lost);
    poll(3);  // the operation ends with this body, its completions before it
}

TEST_F(Peers, WhatIsQueuedForALostPeerIsDropped) {
    ofi::Peer& to = peer();
    fake_->refuse_sends(FakeEndpoint::kForEver);
    for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(send(to, i, 5000));
    endpoint_->lose_peer(to, "test");
    EXPECT_TRUE(to.idle());
    EXPECT_EQ(to.queued, 0U);
    fake_->refuse_sends(0);
    poll(3);
    EXPECT_EQ(fake_->sent_count(), 0U);
    EXPECT_FALSE(endpoint_->owes_progress());
}

TEST_F(Peers, ADepartedPeerIsNeitherLoggedNorSentTo) {
    ofi::Peer& to = peer();
    FakeUser user;
    endpoint_->add_user(to, user);
    say(MessageKind::goodbye);
    poll();
    EXPECT_TRUE(to.departed);
    EXPECT_EQ(count_kind(*fake_, kRemote, MessageKind::goodbye_reply), 1);
    fake_->forget_sent();
    EXPECT_FALSE(send(to, 1));
    endpoint_->lose_peer(to, "its process is gone");
    poll(3);
    EXPECT_EQ(fake_->sent_count(), 0U);
    EXPECT_EQ(user.lost, 1) << "its comms are told, once";
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
    endpoint_->remove_user(to, user);
}

TEST_F(Peers, WhatWasQueuedBeforeTheGoodbyeStillLeaves) {
    ofi::Peer& to = peer();
    fake_->refuse_sends(1);
    ASSERT_TRUE(send(to, 42));
    say(MessageKind::goodbye);
    poll(3);
    EXPECT_EQ(values_to(*fake_, kRemote), std::vector<std::uint64_t>{42});
    EXPECT_EQ(count_kind(*fake_, kRemote, MessageKind::goodbye_reply), 1);
}

TEST_F(Peers, AnAddressThatComesBackIsAnotherPeer) {
    ofi::Peer& old = peer();
    endpoint_->release_peer(&old);
    say(MessageKind::goodbye);
    poll(2);
    ofi::Peer& fresh = peer();
    EXPECT_FALSE(fresh.gone());
    EXPECT_EQ(fabric_.inserts(), 2);
    EXPECT_EQ(fabric_.removes(), 1) << "the old entry had no holder any more";
    EXPECT_TRUE(send(fresh, 1));
}

/// A holder of the lost peer keeps it valid although the address is in use again.
TEST_F(Peers, ALostPeerWithAHolderStaysBesideTheNewOne) {
    ofi::Peer& old = peer();
    endpoint_->lose_peer(old, "test");
    ofi::Peer& fresh = peer();
    EXPECT_NE(&fresh, &old);
    EXPECT_TRUE(old.lost);
    EXPECT_FALSE(fresh.lost);
    EXPECT_EQ(fabric_.removes(), 0);
    endpoint_->release_peer(&old);
}

TEST_F(Peers, AProbeIsAnsweredToPeersWeKnowOnly) {
    say(MessageKind::probe, 1002);
    poll(2);
    EXPECT_EQ(fake_->send_attempts(), 0U);
    ofi::Peer& to = peer();
    say(MessageKind::probe);
    poll(2);
    const auto said = messages_to(*fake_, kRemote);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].header.kind, static_cast<std::uint16_t>(MessageKind::probe_reply));
    EXPECT_EQ(said[0].header.port, 0U);
    const ofi::EndpointName& own = endpoint_->name();
    EXPECT_EQ(said[0].payload, Bytes(reinterpret_cast<const std::byte*>(&own),
                                     reinterpret_cast<const std::byte*>(&own + 1)));
    EXPECT_EQ(to.heard, 1U);
    EXPECT_TRUE(to.established);
}

TEST_F(Peers, GarbledNamesInEndpointMessagesAreIgnored) {
    ofi::Peer& to = peer();
    ofi::EndpointName name = fake_name(kRemote);
    name.length = 200;  // longer than a name can be
    fake_->deliver(PacketText().add(MessageKind::goodbye, name).bytes());
    for (std::size_t length = 0; length < sizeof(name); ++length)
        fake_->deliver(
            PacketText().add(MessageKind::goodbye, 0, Bytes(length, std::byte{0xe8})).bytes());
    poll(100);
    EXPECT_FALSE(to.departed);
    EXPECT_EQ(to.heard, 0U);
    EXPECT_EQ(fake_->send_attempts(), 0U);
}

}  // namespace
}  // namespace duofi::test
