// Closing an endpoint: what is owed leaves, nobody holds it up (architecture 4.8: any close within a second).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::MessageKind;
constexpr Nanoseconds kMuch = 200 * kMillisecond;  // room for a busy machine

class Close : public EndpointTest {
  protected:
    void SetUp() override { open(); }
    /// A peer that has spoken to us.
    ofi::Peer& known_peer(std::uint64_t number = kRemote) {
        ofi::Peer& found = peer(number);
        found.established = true;
        return found;
    }
};

TEST_F(Close, WithoutPeersIsImmediate) {
    EXPECT_LT(close(), kMuch);
    EXPECT_EQ(fabric_.open_objects(), 0);
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
}

TEST_F(Close, SaysGoodbyeAndWaitsForAPeerThatDoesNotAnswerUpToTheLimit) {
    (void)known_peer();
    const Nanoseconds took = close();
    EXPECT_GE(took, ofi::Endpoint::kDrainLimit);
    EXPECT_LT(took, ofi::Endpoint::kDrainLimit + kMuch);
    EXPECT_EQ(count_kind(*fake_, kRemote, MessageKind::goodbye), 1);
    EXPECT_EQ(log_.with("endpoint closed").size(), 1U) << log_.dump();
}

TEST_F(Close, ManySilentPeersTakeNoLongerThanOne) {
    for (std::uint64_t i = 0; i < 50; ++i) (void)known_peer(kRemote + i);
    EXPECT_LT(close(), ofi::Endpoint::kDrainLimit + kMuch);
}

TEST_F(Close, APeerThatTakesNothingDoesNotHoldItUpLonger) {
    ofi::Peer& to = known_peer();
    fake_->refuse_sends(FakeEndpoint::kForEver);
    for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(send(to, i, 8000));
    EXPECT_LT(close(), ofi::Endpoint::kDrainLimit + kMuch);
}

TEST_F(Close, DoesNotWaitForPeersThatAreGone) {
    (void)peer(1000);  // never heard of
    ofi::Peer& lost = known_peer(1001);
    endpoint_->lose_peer(lost, "test");
    (void)peer(1002);
    say(MessageKind::goodbye, 1002);
    poll(2);
    ofi::Peer& dead = peer(1003);
    HostIdentity identity = read_host_identity();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    identity.pid = static_cast<std::uint32_t>(child);
    identity.start_time = 0;
    endpoint_->identify(dead, identity, 9000);
    fake_->forget_sent();
    EXPECT_LT(close(), kMuch);
    EXPECT_EQ(count_kind(*fake_, 1001, MessageKind::goodbye), 0);
    EXPECT_EQ(count_kind(*fake_, 1002, MessageKind::goodbye), 0);
}

TEST_F(Close, OwnAddressNeedsNoAnswer) {
    ofi::Peer* self = endpoint_->acquire_peer(endpoint_->name());
    ASSERT_NE(self, nullptr);
    ASSERT_TRUE(send(*self, 1));
    EXPECT_LT(close(), kMuch);
    EXPECT_EQ(count_kind(*fake_, fake_->number(), MessageKind::goodbye), 0);
}

TEST_F(Close, TheAnswerEndsTheWait) {
    (void)known_peer();
    say(MessageKind::goodbye_reply);  // arrives while closing drains
    EXPECT_LT(close(), kMuch);
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
}

TEST_F(Close, TheEndpointClosesBeforeItsQueueAndItsBuffers) {
    close();
    open(fabric_.device(FI_MR_LOCAL));
    close();
    const auto order = fabric_.closed();
    const auto at = [&](const char* kind) {
        return std::find(order.rbegin(), order.rend(), kind) - order.rbegin();  // counted from the end
    };
    EXPECT_GT(at("ep"), at("cq"));
    EXPECT_GT(at("cq"), at("av"));
    EXPECT_GT(at("ep"), at("mr")) << "the provider may write into a buffer until its endpoint is closed";
    EXPECT_GT(at("mr"), at("domain"));
    EXPECT_GT(at("domain"), at("fabric"));
}

/// Two endpoints that talk to each other: both may close, in either order, and nothing sent is lost.
TEST_F(Close, TwoEndpointsPartWithoutWaiting) {
    lock_.unlock();
    auto domain = ofi::Domain::open(device_, settings_);
    ASSERT_TRUE(domain);
    auto second = ofi::Endpoint::open(std::move(*domain));
    ASSERT_TRUE(second);
    FakeOwner owner;
    std::uint32_t port = 0;
    ofi::Peer* back = nullptr;
    {
        const std::scoped_lock both(endpoint_->mutex(), (*second)->mutex());
        port = (*second)->ports().open(&owner);
        ofi::Peer* there = endpoint_->acquire_peer((*second)->name());
        back = (*second)->acquire_peer(endpoint_->name());
        ASSERT_TRUE(there != nullptr && back != nullptr);
        endpoint_->identify(*there, (*second)->identity(), 9000);  // as a handshake does
        (*second)->identify(*back, endpoint_->identity(), 9000);
        fake_->refuse_sends(5);
        for (std::uint64_t i = 0; i < 100; ++i) {
            ofi::MessageHeader header;
            header.kind = static_cast<std::uint16_t>(MessageKind::net_eager);
            header.port = port;
            header.value = i;
            ASSERT_TRUE(endpoint_->send_message(*there, header, Bytes(1000)));
        }
    }
    EXPECT_LT(close(), kMuch) << "the other's service thread answers";
    {
        const std::scoped_lock lock((*second)->mutex());
        ASSERT_EQ(owner.headers.size(), 100U);
        for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(owner.headers[i].value, i);
        EXPECT_TRUE(back->departed);
        EXPECT_FALSE((*second)->send_message(*back, {}, {})) << "its memory may be gone";
    }
    const Nanoseconds start = now_ns();
    second->reset();
    EXPECT_LT(now_ns() - start, kMuch) << "the first has gone and said so";
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
}

}  // namespace
}  // namespace duofi::test
