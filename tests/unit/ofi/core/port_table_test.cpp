// Ports and their generations, and traffic for ports that nobody has.
#include "common/ofi/port_table.hpp"

#include <set>

#include "common/ofi/handshake.hpp"
#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::MessageKind;
using ofi::PortTable;

TEST(PortTable, NumbersAreNeverZeroAndDiffer) {
    PortTable ports;
    FakeOwner owner;
    std::set<std::uint32_t> numbers;
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t port = ports.open(&owner);
        EXPECT_NE(port, 0U);
        EXPECT_TRUE(numbers.insert(port).second);
        EXPECT_EQ(ports.find(port), &owner);
    }
    EXPECT_EQ(ports.find(0), nullptr);
    EXPECT_EQ(ports.find(0xffffffffU), nullptr);
}

TEST(PortTable, LateTrafficForAReusedSlotFindsNobody) {
    PortTable ports;
    FakeOwner first, second;
    const std::uint32_t old = ports.open(&first);
    ports.close(old);
    EXPECT_EQ(ports.find(old), nullptr);
    const std::uint32_t fresh = ports.open(&second);
    EXPECT_EQ(fresh & 0xffff, old & 0xffff) << "the slot is used again";
    EXPECT_NE(fresh, old);
    EXPECT_EQ(ports.find(old), nullptr);
    EXPECT_EQ(ports.find(fresh), &second);
    ports.close(old);  // an old number closes nothing
    EXPECT_EQ(ports.find(fresh), &second);
}

TEST(PortTable, ASlotHas65535NumbersBeforeOneComesBack) {
    PortTable ports;
    FakeOwner owner;
    std::set<std::uint32_t> numbers;
    for (int i = 0; i < 0xffff; ++i) {
        const std::uint32_t port = ports.open(&owner);
        ASSERT_NE(port, 0U);
        ASSERT_TRUE(numbers.insert(port).second) << "after " << i;
        ports.close(port);
    }
    EXPECT_FALSE(numbers.insert(ports.open(&owner)).second) << "then the first is used again";
}

TEST(PortTable, TakesExactlyAsManyAsItSays) {
    PortTable ports;
    FakeOwner owner;
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < PortTable::kMaxPorts; ++i) {
        last = ports.open(&owner);
        ASSERT_NE(last, 0U);
    }
    EXPECT_EQ(ports.open(&owner), 0U);
    ports.close(last);
    EXPECT_NE(ports.open(&owner), 0U);
}

TEST(PortTable, HandOverChangesTheOwnerOfAnOpenPortOnly) {
    PortTable ports;
    FakeOwner first, second;
    const std::uint32_t port = ports.open(&first);
    ports.hand_over(port, &second);
    EXPECT_EQ(ports.find(port), &second);
    ports.close(port);
    ports.hand_over(port, &first);
    EXPECT_EQ(ports.find(port), nullptr);
}

class UnknownPort : public EndpointTest {
  protected:
    void SetUp() override { open(); }
    static Bytes hello_from(std::uint64_t number, std::uint32_t answer_port) {
        ofi::Hello hello;
        hello.port = answer_port;
        hello.name = fake_name(number);
        Bytes out(ofi::kMaxHandshakeBytes);
        out.resize(ofi::write_hello(out, hello));
        return out;
    }
};

TEST_F(UnknownPort, EverythingButHelloIsIgnored) {
    for (const std::uint16_t kind : {0, 1, 2, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 999, 0xffff})
        fake_->deliver(PacketText()
                           .add(static_cast<MessageKind>(kind), 0x10005, bytes_of("whatever"), 1, 2)
                           .bytes());
    poll(10);
    EXPECT_EQ(fake_->send_attempts(), 0U);
    EXPECT_EQ(fabric_.inserts(), 0);
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
}

TEST_F(UnknownPort, AHelloIsRefusedAtThePortItNames) {
    fake_->deliver(PacketText().add(MessageKind::hello, 0x10005, hello_from(kRemote, 0x20007)).bytes());
    poll();
    remotes_.push_back(kRemote);
    const auto said = messages_to(*fake_, kRemote);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].header.kind, static_cast<std::uint16_t>(MessageKind::refuse));
    EXPECT_EQ(said[0].header.port, 0x20007U);
    EXPECT_EQ(said[0].header.word, static_cast<std::uint32_t>(ofi::RefuseReason::not_listening));
}

TEST_F(UnknownPort, AHelloForAPortThatWasUsedAgainIsRefused) {
    FakeOwner owner;
    const std::uint32_t old = endpoint_->ports().open(&owner);
    endpoint_->ports().close(old);
    const std::uint32_t fresh = endpoint_->ports().open(&owner);
    ASSERT_NE(old, fresh);
    fake_->deliver(PacketText().add(MessageKind::hello, old, hello_from(kRemote, 9)).bytes());
    poll();
    remotes_.push_back(kRemote);
    EXPECT_TRUE(owner.headers.empty());
    EXPECT_EQ(count_kind(*fake_, kRemote, MessageKind::refuse), 1);
}

TEST_F(UnknownPort, AGarbledHelloIsIgnored) {
    const Bytes good = hello_from(kRemote, 9);
    for (std::size_t length = 0; length < good.size(); ++length)
        fake_->deliver(
            PacketText().add(MessageKind::hello, 5, std::span(good).first(length)).bytes());
    poll(300);
    EXPECT_EQ(fake_->send_attempts(), 0U);
    EXPECT_EQ(fabric_.inserts(), 0);
}

}  // namespace
}  // namespace duofi::test
