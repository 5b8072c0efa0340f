// Sending of messages, common/ofi/post.cpp: order per peer, batching, bounds (architecture 4.6, P9).
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

class SendOrder : public EndpointTest {
  protected:
    void SetUp() override { open(); }
};

std::vector<std::uint64_t> up_to(std::uint64_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    return numbers;
}

TEST_F(SendOrder, ALoneMessageLeavesAtOnce) {
    ofi::Peer& to = peer();
    ASSERT_TRUE(send(to, 7, 13));
    ASSERT_EQ(fake_->sent_count(), 1U);
    const auto said = messages_to(*fake_, kRemote);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].header.value, 7U);
    EXPECT_EQ(said[0].header.length, 13U);
    EXPECT_EQ(said[0].payload, Bytes(13, std::byte{7}));
    EXPECT_EQ(fake_->sent()[0].bytes.size(), 24U + 16U);
    EXPECT_FALSE(endpoint_->wants_poll());
}

TEST_F(SendOrder, WhileOneIsInFlightOthersLeaveTogetherAtTheNextPoll) {
    ofi::Peer& to = peer();
    fake_->hold_sends(true);
    for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(send(to, i));
    EXPECT_EQ(fake_->sent_count(), 1U);
    EXPECT_TRUE(endpoint_->wants_poll());
    poll();  // the first one is still in flight: the rest leaves all the same, in one send
    ASSERT_EQ(fake_->sent_count(), 2U);
    EXPECT_EQ(messages_of(fake_->sent()[1].bytes).size(), 19U);
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(20));
    EXPECT_FALSE(endpoint_->wants_poll());
}

TEST_F(SendOrder, AfterTheCompletionAMessageIsLoneAgain) {
    ofi::Peer& to = peer();
    ASSERT_TRUE(send(to, 0));
    poll();
    ASSERT_TRUE(send(to, 1));
    EXPECT_EQ(fake_->sent_count(), 2U);
}

TEST_F(SendOrder, OrderIsKeptAcrossRefusals) {
    ofi::Peer& to = peer();
    std::mt19937 random(17);
    std::uint64_t next = 0;
    for (int round = 0; round < 400; ++round) {
        if (random() % 3 == 0) fake_->refuse_sends(static_cast<int>(random() % 4));
        fake_->hold_sends(random() % 2 == 0);
        for (std::uint32_t i = random() % 4; i > 0; --i) ASSERT_TRUE(send(to, next++, random() % 5000));
        if (random() % 2 == 0) fake_->complete_sends();
        if (random() % 2 == 0) poll();
    }
    fake_->refuse_sends(0);
    fake_->hold_sends(false);
    for (int i = 0; i < 100; ++i) {
        fake_->complete_sends();
        poll();
    }
    EXPECT_GT(fake_->send_attempts(), fake_->sent_count()) << "nothing was refused";
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(next));
    EXPECT_FALSE(endpoint_->owes_progress());
    EXPECT_EQ(to.in_flight, 0U);
}

TEST_F(SendOrder, APeerThatIsRefusedDoesNotHoldUpAnother) {
    ofi::Peer& slow = peer(1000);
    ofi::Peer& fast = peer(1001);
    fake_->refuse_sends(1);
    ASSERT_TRUE(send(slow, 0));
    ASSERT_TRUE(send(fast, 0));
    EXPECT_EQ(values_to(*fake_, 1001), up_to(1));
    poll();
    EXPECT_EQ(values_to(*fake_, 1000), up_to(1));
}

TEST_F(SendOrder, CompletionsMayComeInAnyOrder) {
    ofi::Peer& to = peer();
    fake_->hold_sends(true);
    for (std::uint64_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(send(to, i, 6000));  // two do not fit into one packet
        poll();
    }
    ASSERT_EQ(fake_->in_flight(), 8U);
    while (fake_->in_flight() != 0) fake_->complete_send(fake_->in_flight() - 1);
    poll(3);
    EXPECT_EQ(to.in_flight, 0U);
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(8));
    EXPECT_FALSE(endpoint_->owes_progress());
}

TEST_F(SendOrder, AtMostKMaxInFlightPacketsAreAtTheProvider) {
    ofi::Peer& to = peer();
    fake_->hold_sends(true);
    for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(send(to, i, 8000));
        poll();
    }
    EXPECT_EQ(fake_->in_flight(), ofi::Endpoint::kMaxInFlight);
    for (int i = 0; i < 100; ++i) {
        fake_->complete_sends();
        poll();
        EXPECT_LE(fake_->in_flight(), ofi::Endpoint::kMaxInFlight);
    }
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(100));
}

TEST_F(SendOrder, ABoundedMessageIsRefusedAtTheBoundAndTakenAfterIt) {
    ofi::Peer& to = peer();
    fake_->refuse_sends(FakeEndpoint::kForEver);
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(ofi::MessageKind::net_eager);
    header.port = 1;
    header.length = 8000;
    std::uint64_t taken = 0;
    for (; taken < 200; ++taken) {
        header.value = taken;
        std::byte* place = endpoint_->reserve(to, header, true);
        if (place == nullptr) break;
        std::fill(place, place + header.length, std::byte{1});
        endpoint_->commit(to);
    }
    EXPECT_GE(taken, ofi::Endpoint::kMaxQueuedPackets);
    EXPECT_LE(taken, ofi::Endpoint::kMaxQueuedPackets + 1);
    EXPECT_EQ(to.queued, ofi::Endpoint::kMaxQueuedPackets);
    EXPECT_EQ(endpoint_->reserve(to, header, true), nullptr);
    ASSERT_TRUE(send(to, taken)) << "control messages are not bounded";

    fake_->refuse_sends(0);
    poll(3);
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(taken + 1));
    EXPECT_NE(endpoint_->reserve(to, header, true), nullptr);
    endpoint_->commit(to);
}

TEST_F(SendOrder, TheLargestMessageFitsOnePacket) {
    ofi::Peer& to = peer();
    ASSERT_GE(endpoint_->max_message_payload(to), 8192U);
    ASSERT_TRUE(send(to, 0, endpoint_->max_message_payload(to)));
    ASSERT_TRUE(send(to, 1, 1));
    poll();
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(2));
}

/// A packet longer than the buffer it falls into kills the connection (P5).
TEST_F(SendOrder, NoPacketIsLongerThanThePeersBuffers) {
    ofi::Peer& to = peer();
    to.packet_limit = ofi::kSmallestPacket;
    EXPECT_FALSE(send(to, 0, 2000));
    EXPECT_FALSE(to.lost);
    fake_->hold_sends(true);
    for (std::uint64_t i = 0; i < 30; ++i) ASSERT_TRUE(send(to, i, 300));
    poll(2);
    EXPECT_EQ(values_to(*fake_, kRemote), up_to(30));
    for (const FakeSend& packet : fake_->sent()) EXPECT_LE(packet.bytes.size(), ofi::kSmallestPacket);
}

TEST_F(SendOrder, AHardErrorLosesThePeer) {
    ofi::Peer& to = peer();
    FakeUser user;
    endpoint_->add_user(to, user);
    fake_->refuse_sends(1, -FI_ECONNREFUSED);
    send(to, 0);
    EXPECT_TRUE(to.lost);
    EXPECT_EQ(user.lost, 1);
    EXPECT_FALSE(send(to, 1));
    EXPECT_EQ(fake_->sent_count(), 0U);
    EXPECT_EQ(log_.with("peer lost").size(), 1U) << log_.dump();
    poll();
    EXPECT_FALSE(endpoint_->owes_progress());
    endpoint_->remove_user(to, user);
}

}  // namespace
}  // namespace duofi::test
