// Receiving of packets, common/ofi/completion.cpp: parsing, retained packets, a receive queue that stays full.
#include <rdma/fi_endpoint.h>

#include <cstring>

#include "common/ofi/handshake.hpp"
#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::MessageKind;

class Receive : public EndpointTest {
  protected:
    static constexpr std::size_t kPosted = 8;  // half of the fake's receive queue
    void SetUp() override {
        open();
        port_ = endpoint_->ports().open(&owner_);
        ASSERT_NE(port_, 0U);
    }
    Bytes eager(std::uint64_t value, std::string_view payload = "payload") const {
        return PacketText().add(MessageKind::net_eager, port_, bytes_of(payload), 3, value).bytes();
    }
    FakeOwner owner_;
    std::uint32_t port_ = 0;
};

TEST_F(Receive, TheQueueIsFilledAtOpen) { EXPECT_EQ(fake_->posted_receives(), kPosted); }

TEST_F(Receive, MessagesArriveInOrderWithTheirPayload) {
    PacketText packet;
    packet.add(MessageKind::net_eager, port_, bytes_of("a"), 3, 0);
    packet.add(MessageKind::net_eager, port_, {}, 3, 1);
    packet.add(MessageKind::net_eager, port_, bytes_of("twelve bytes"), 3, 2);
    fake_->deliver(packet.bytes());
    fake_->deliver(eager(3));
    poll(2);  // the second posts again what the first has taken
    ASSERT_EQ(owner_.headers.size(), 4U);
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(owner_.headers[i].value, i);
        EXPECT_EQ(owner_.headers[i].word, 3U);
    }
    EXPECT_EQ(owner_.payloads[0], bytes_of("a"));
    EXPECT_EQ(owner_.payloads[1], Bytes());
    EXPECT_EQ(owner_.payloads[2], bytes_of("twelve bytes"));
    EXPECT_EQ(fake_->posted_receives(), kPosted);
}

TEST_F(Receive, ManyPacketsNeverEmptyTheQueue) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
        fake_->deliver(eager(i));
        if (i % 7 == 0) poll();
    }
    for (int i = 0; i < 400; ++i) poll();
    ASSERT_EQ(owner_.headers.size(), 1000U);
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(owner_.headers[i].value, i);
    EXPECT_EQ(fake_->posted_receives(), kPosted);
}

TEST_F(Receive, ARetainedPacketIsReplacedAndKeepsItsBytes) {
    owner_.retain = true;
    for (std::uint64_t i = 0; i < 40; ++i) {
        fake_->deliver(eager(i, std::string(100, static_cast<char>('a' + i % 26))));
        poll(2);
        ASSERT_EQ(fake_->posted_receives(), kPosted);
    }
    ASSERT_EQ(owner_.kept.size(), 40U);
    for (std::size_t i = 0; i < 40; ++i) {
        const Bytes expected(100, static_cast<std::byte>('a' + i % 26));
        ASSERT_EQ(Bytes(owner_.kept[i].payload.begin(), owner_.kept[i].payload.end()), expected);
    }
    owner_.retain = false;
    for (auto& kept : owner_.kept) endpoint_->release_packet(kept.packet);
    poll();
    EXPECT_EQ(fake_->posted_receives(), kPosted) << "released packets are spares";
    for (std::uint64_t i = 0; i < 100; ++i) {
        fake_->deliver(eager(i));
        poll(2);
    }
    EXPECT_EQ(owner_.headers.size(), 140U);
    EXPECT_EQ(fake_->posted_receives(), kPosted);
}

/// An owner that gives an old packet back while it keeps the new one, for a long time.
TEST_F(Receive, KeepingOneWhileReleasingAnotherKeepsTheCountBounded) {
    struct Swapper final : ofi::PortOwner {
        void on_message(const ofi::Message& message) noexcept override {
            if (old != nullptr) endpoint->release_packet(old);
            old = message.packet;
            ofi::Endpoint::retain_packet(old);
        }
        ofi::Endpoint* endpoint = nullptr;
        ofi::RxPacket* old = nullptr;
    } swapper;
    swapper.endpoint = endpoint_.get();
    endpoint_->ports().hand_over(port_, &swapper);
    for (std::uint64_t i = 0; i < 200; ++i) {
        fake_->deliver(eager(i));
        poll();
        ASSERT_GE(fake_->posted_receives(), kPosted);
        ASSERT_LE(fake_->posted_receives(), kPosted + 1);
    }
    endpoint_->release_packet(swapper.old);
    endpoint_->ports().close(port_);
}

TEST_F(Receive, TwoMessagesOfOnePacketMayBothKeepIt) {
    owner_.retain = true;
    PacketText packet;
    packet.add(MessageKind::net_eager, port_, bytes_of("one"));
    packet.add(MessageKind::net_eager, port_, bytes_of("two"));
    fake_->deliver(packet.bytes());
    poll();
    ASSERT_EQ(owner_.kept.size(), 2U);
    EXPECT_EQ(owner_.kept[0].packet, owner_.kept[1].packet);
    endpoint_->release_packet(owner_.kept[0].packet);
    EXPECT_EQ(std::memcmp(owner_.kept[1].payload.data(), "two", 3), 0);
    endpoint_->release_packet(owner_.kept[1].packet);
    EXPECT_EQ(fake_->posted_receives(), kPosted);
}

TEST_F(Receive, ARefusedReceiveIsPostedLater) {
    fake_->refuse_receives(3);
    fake_->deliver(eager(0));
    fake_->deliver(eager(1));
    poll();
    EXPECT_LT(fake_->posted_receives(), kPosted);
    poll(6);
    EXPECT_EQ(fake_->posted_receives(), kPosted);
    EXPECT_FALSE(endpoint_->owes_progress());
    EXPECT_EQ(owner_.headers.size(), 2U);
}

TEST_F(Receive, AFailedReceiveIsPostedAgain) {
    const int codes[] = {FI_EIO, FI_ETRUNC, -FI_ETRUNC, FI_ECANCELED};
    for (const int error : codes) {
        fake_->fail_receive(error);
        poll();
        EXPECT_EQ(fake_->posted_receives(), kPosted) << error;
    }
    fake_->deliver(eager(1));
    poll();
    EXPECT_EQ(owner_.headers.size(), 1U);
    EXPECT_TRUE(log_.with("WARN").empty());
}

TEST_F(Receive, AnErrorThatHidesForAWhileIsStillTaken) {
    fake_->fail_receive(FI_EIO);
    fake_->hide_error_entries(40);  // more often than one poll looks
    fake_->deliver(eager(1));
    poll(10);
    EXPECT_EQ(owner_.headers.size(), 1U);
    EXPECT_EQ(fake_->posted_receives(), kPosted);
}

/// Every length of a packet with two messages, and headers that lie about theirs.
TEST_F(Receive, CutPacketsGiveOnlyWholeMessages) {
    PacketText whole;
    whole.add(MessageKind::net_eager, port_, bytes_of("12345678"), 0, 1);
    whole.add(MessageKind::net_eager, port_, bytes_of("abc"), 0, 2);
    const Bytes& bytes = whole.bytes();
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
        owner_.headers.clear();
        fake_->deliver(std::span(bytes).first(length));
        poll(2);
        const std::size_t expected = length >= 24 + 8 + 24 + 3 ? 2 : length >= 24 + 8 ? 1 : 0;
        ASSERT_EQ(owner_.headers.size(), expected) << "of " << length << " bytes";
        ASSERT_EQ(fake_->posted_receives(), kPosted);
    }
}

TEST_F(Receive, ALengthThatLeavesThePacketIsNotFollowed) {
    for (const std::uint32_t length : {9U, 0x7fffffffU, 0x80000000U, 0xfffffff8U, 0xffffffffU}) {
        owner_.headers.clear();
        Bytes packet = PacketText().add(MessageKind::net_eager, port_, bytes_of("12345678")).bytes();
        std::memcpy(packet.data() + 4, &length, sizeof(length));
        fake_->deliver(packet);
        poll();
        EXPECT_TRUE(owner_.headers.empty()) << length;
    }
    poll();
    EXPECT_EQ(fake_->posted_receives(), kPosted);
}

TEST_F(Receive, OnePollTakesABoundedNumberOfCompletions) {
    for (std::uint64_t i = 0; i < 500; ++i) fake_->deliver(eager(i));
    poll();
    EXPECT_LE(owner_.headers.size(), 16U * settings_.cq_read_count);
    EXPECT_GE(owner_.headers.size(), kPosted);
    for (int i = 0; i < 500; ++i) poll();
    EXPECT_EQ(owner_.headers.size(), 500U);
}

}  // namespace
}  // namespace duofi::test
