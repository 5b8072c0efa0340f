// Units: common/ofi/knock.
// A peer that takes nothing and says nothing is asked through the kernel of its node (architecture 4.8). Real sockets on
// loopback; the times of the endpoint are made up.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::Door;
using ofi::EndpointName;
using ofi::Knock;

// A listener of loopback, or only its address once it is closed.
class Listener {
  public:
    explicit Listener(sa_family_t family) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_addr = in6addr_loopback;
        const bool four = family == AF_INET;
        name.length = four ? sizeof(v4) : sizeof(v6);
        if (four)
            std::memcpy(name.bytes.data(), &v4, sizeof(v4));
        else
            std::memcpy(name.bytes.data(), &v6, sizeof(v6));
        sockaddr_storage address{};
        std::memcpy(&address, name.bytes.data(), name.length);
        socklen_t length = name.length;
        usable = ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                 ::listen(socket_.get(), 1) == 0 &&
                 ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0;
        std::memcpy(name.bytes.data(), &address, name.length);
    }
    void close() { socket_.reset(); }

    EndpointName name;
    bool usable = false;

  private:
    UniqueFd socket_;
};

// The answer when it is there.
Door answer(Knock& knock, const EndpointName& name) {
    for (const Nanoseconds end = now_ns() + 5 * kSecond; now_ns() < end;)
        if (const Door door = knock.ask(name, now_ns()); door != Door::unknown) return door;
    return Door::unknown;
}

TEST(Knock, tells_a_listener_from_a_closed_port) {
    for (const sa_family_t family : {AF_INET, AF_INET6}) {
        Listener listener(family);
        if (!listener.usable) {
            ASSERT_EQ(family, AF_INET6) << "only IPv6 may be missing";
            continue;
        }
        Knock knock;
        EXPECT_EQ(answer(knock, listener.name), Door::open);
        EXPECT_EQ(answer(knock, listener.name), Door::open) << "as often as one likes";
        listener.close();
        EXPECT_EQ(answer(knock, listener.name), Door::refused);
    }
}

TEST(Knock, a_full_backlog_is_no_refusal) {
    Listener listener(AF_INET);
    ASSERT_TRUE(listener.usable);
    std::vector<Knock> knocks(8);
    Nanoseconds now = now_ns();
    for (Knock& knock : knocks) {  // nobody accepts; the later ones get no answer, however long one waits
        Door door = knock.ask(listener.name, now);
        if (door == Door::unknown) door = knock.ask(listener.name, now + 11 * kSecond);
        EXPECT_TRUE(door == Door::open || door == Door::silent);
    }
}

TEST(Knock, other_kinds_of_addresses_cannot_be_asked) {
    EndpointName name;
    Knock knock;
    EXPECT_EQ(knock.ask(name, 1), Door::none);
    name.length = 32;
    name.bytes[0] = std::byte{AF_INET};
    EXPECT_EQ(knock.ask(name, 1), Door::none) << "too long for one";
    name.length = sizeof(sockaddr_in);
    name.bytes[1] = std::byte{1};
    EXPECT_EQ(knock.ask(name, 1), Door::none) << "another family";
}

class BlockedPeer : public EndpointTest {
  protected:
    void SetUp() override {
        open();
        peer_ = &peer();
        endpoint_->add_user(*peer_, user_);
        peer_->established = true;
        user_.waits = true;
        fake_->refuse_sends(duofi::test::FakeEndpoint::kForEver);
        ASSERT_TRUE(send(*peer_, 1));
    }
    void TearDown() override {
        endpoint_->remove_user(*peer_, user_);
        EndpointTest::TearDown();
    }
    void pass(Nanoseconds span) {
        for (const Nanoseconds end = passed_ + span; passed_ < end;) {
            passed_ += 50 * kMillisecond;
            endpoint_->tick(start_ + passed_);
            endpoint_->poll();
        }
    }

    ofi::Peer* peer_ = nullptr;
    FakeUser user_;
    Nanoseconds start_ = now_ns(), passed_ = 0;
};

TEST_F(BlockedPeer, is_kept_while_somebody_listens_and_lost_when_nobody_does) {
    Listener listener(AF_INET);
    ASSERT_TRUE(listener.usable);
    peer_->name = listener.name;
    pass(60 * kSecond);
    EXPECT_FALSE(peer_->lost) << "stopped, perhaps for minutes";
    listener.close();
    pass(10 * kSecond);
    EXPECT_TRUE(peer_->lost);
    EXPECT_EQ(user_.lost, 1);
    EXPECT_EQ(log_.with("nobody listens").size(), 1U) << log_.dump();
}

}  // namespace
}  // namespace duofi::test
