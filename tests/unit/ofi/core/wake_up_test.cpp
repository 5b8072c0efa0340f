// Units: common/ofi/wake_up, common/ofi/service_thread.
// Endpoints whose memory others reach into while nobody calls: they sleep, and wake when something arrives (T-6).
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/service_thread.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/ofi/core/packet_text.hpp"
#include "tests/unit/ofi/core/provider_device.hpp"

namespace duofi::test {
namespace {

using ofi::Endpoint;

class WakeUp : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!device_.find(GetParam())) GTEST_SKIP() << GetParam() << " is not in this libfabric";
        same_node_ = ofi::quirk_for(device_.device().provider, fi_version()).same_node_only;
        target_ = open(true);
        sender_ = open(true);
        if (target_ == nullptr || sender_ == nullptr) GTEST_FAIL() << "no endpoint";
        const std::scoped_lock lock(target_->mutex());
        counter_.endpoint = target_.get();
        port_ = target_->ports().open(&counter_);
    }
    void TearDown() override {
        if (target_ == nullptr || sender_ == nullptr) return;
        const std::scoped_lock both(target_->mutex(), sender_->mutex());
        if (peer_ != nullptr) sender_->release_peer(peer_);
        if (passive_) target_->remove_passive_target();
        target_->ports().close(port_);
        // Nothing may be on its way to one of the two when the other has closed (P15).
        sender_->forget_local_peer(target_->name());
        for (int i = 0; i < 20; ++i) {
            sender_->poll();
            target_->poll();
        }
    }
    std::shared_ptr<Endpoint> open(bool can_sleep) {
        auto domain = ofi::Domain::open(device_.device(), device_.settings());
        if (!domain) return nullptr;
        auto endpoint = Endpoint::open(std::move(*domain), {}, can_sleep);
        return endpoint ? std::move(*endpoint) : nullptr;
    }
    /// The test alone polls from now on.
    void without_service_thread() { ofi::service_abandon(); }
    void serve_memory() {
        const std::scoped_lock lock(target_->mutex());
        target_->add_passive_target();
        passive_ = true;
    }
    /// One message to the target, as the lanes of the RMA plugin send it.
    void send(bool rouse = true) {
        const std::scoped_lock lock(sender_->mutex());
        if (peer_ == nullptr) peer_ = sender_->acquire_peer(target_->name());
        ASSERT_NE(peer_, nullptr);
        ofi::MessageHeader header;
        header.kind = static_cast<std::uint16_t>(ofi::MessageKind::rma_mark);
        header.port = port_;
        ASSERT_TRUE(sender_->send_message(*peer_, header, {}));
        if (rouse) sender_->rouse(*peer_);
    }
    /// Time goes by for the sender, as the service thread would tell it.
    void advance(Nanoseconds by) {
        const std::scoped_lock lock(sender_->mutex());
        sender_->tick(sender_->tick_time() + by);
    }
    static void poll(Endpoint& endpoint) {
        const std::scoped_lock lock(endpoint.mutex());
        endpoint.poll();
    }
    [[nodiscard]] bool armed() {
        const std::scoped_lock lock(target_->mutex());
        return target_->arm();
    }
    [[nodiscard]] std::uint64_t arrived() {
        const std::scoped_lock lock(target_->mutex());
        return counter_.messages;
    }
    [[nodiscard]] bool readable(Nanoseconds within) const {
        pollfd entry{target_->wait_descriptor(), POLLIN, 0};
        return ::poll(&entry, 1, static_cast<int>(within / kMillisecond)) == 1 && (entry.revents & POLLIN) != 0;
    }
    /// Repeats until it is true; false after the test's patience.
    static bool until(const std::function<bool()>& step) {
        const Deadline deadline(patience(20 * kSecond));
        while (!step()) {
            if (deadline.passed()) return false;
            std::this_thread::yield();
        }
        return true;
    }
    /// The thread looks closely for a while before it sleeps: one half second of quiet must come.
    [[nodiscard]] bool falls_asleep() const {
        for (int tries = 0; tries < 10; ++tries)
            if (polls_in_half_a_second() < kMostPollsAsleep) return true;
        return false;
    }
    /// Polls of the target in the next half second.
    [[nodiscard]] std::uint64_t polls_in_half_a_second() const {
        const std::uint64_t before = target_->poll_count();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        return target_->poll_count() - before;
    }
    void ring() const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        constexpr std::string_view kPrefix = "duofi-bell:";
        std::memcpy(address.sun_path + 1, kPrefix.data(), kPrefix.size());
        std::memcpy(address.sun_path + 1 + kPrefix.size(), target_->name().bytes.data(), target_->name().length);
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kPrefix.size() + target_->name().length);
        const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ASSERT_GE(fd, 0);
        const ssize_t sent = ::sendto(fd, "", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address), length);
        EXPECT_TRUE(sent == 1 || errno == EAGAIN) << errno;  // rung often enough
        ::close(fd);
    }

    struct Counter final : ofi::PortOwner {
        void on_message(const ofi::Message&) noexcept override {
            ++messages;
            tick = endpoint->tick_time();
        }
        const Endpoint* endpoint = nullptr;
        std::uint64_t messages = 0;
        Nanoseconds tick = 0;  ///< time of the target at the last message
    };
    /// About ten ticks of the service thread, and what a busy machine adds.
    static constexpr std::uint64_t kMostPollsAsleep = 60;

    ProviderDevice device_;
    bool same_node_ = false;
    Counter counter_;
    std::uint32_t port_ = 0;
    bool passive_ = false;
    std::shared_ptr<Endpoint> target_, sender_;
    ofi::Peer* peer_ = nullptr;
};

TEST_P(WakeUp, a_quiet_endpoint_arms_and_its_descriptor_tells_of_a_packet) {
    without_service_thread();
    ASSERT_GE(target_->wait_descriptor(), 0);
    for (int round = 0; round < 5; ++round) {
        ASSERT_TRUE(until([&] { return armed(); })) << round;
        EXPECT_FALSE(readable(0)) << round;
        const std::uint64_t before = arrived();
        advance(200 * kMillisecond);
        send();
        ASSERT_TRUE(until([&] {
            poll(*sender_);
            return readable(0);
        })) << round;
        ASSERT_TRUE(until([&] {
            poll(*sender_);
            poll(*target_);
            return arrived() == before + 1;
        })) << round;
    }
}

TEST_P(WakeUp, does_not_arm_while_something_is_there) {
    without_service_thread();
    send();
    ASSERT_TRUE(until([&] {
        poll(*sender_);
        const std::uint64_t before = arrived();
        const bool quiet = armed();
        return arrived() == before + 1 && !quiet;
    })) << "arm takes what it finds, and says that there was something";
    EXPECT_EQ(arrived(), 1u);
    EXPECT_TRUE(until([&] { return armed(); }));
}

TEST_P(WakeUp, is_not_asked_for_and_costs_nothing) {
    const auto plain = open(false);
    ASSERT_NE(plain, nullptr);
    EXPECT_LT(plain->wait_descriptor(), 0);
    const std::scoped_lock lock(plain->mutex());
    EXPECT_FALSE(plain->arm());
}

TEST_P(WakeUp, a_bell_is_rung_once_after_a_pause) {
    if (!same_node_) GTEST_SKIP() << "has no bell";
    without_service_thread();
    const auto rings = [&] {
        int count = 0;
        char ring = 0;
        while (::recv(target_->wait_descriptor(), &ring, 1, MSG_DONTWAIT) >= 0) ++count;
        return count;
    };
    send();
    EXPECT_EQ(rings(), 1) << "after start-up all is quiet";
    for (int i = 0; i < 10; ++i) send();
    EXPECT_EQ(rings(), 0) << "the service thread is awake for a while";
    advance(200 * kMillisecond);
    for (int i = 0; i < 10; ++i) send();
    EXPECT_EQ(rings(), 1) << "nothing was heard from it meanwhile";
    advance(200 * kMillisecond);
    {
        const std::scoped_lock lock(sender_->mutex());
        ++peer_->heard;  // its answer
    }
    send();
    EXPECT_EQ(rings(), 1) << "an answer of long ago does not keep it awake";
}

TEST_P(WakeUp, nobody_at_home_is_no_error) {
    if (!same_node_) GTEST_SKIP() << "has no bell";
    without_service_thread();
    send();
    const std::scoped_lock lock(sender_->mutex());
    peer_->name.bytes[3] ^= std::byte{0x55};
    peer_->roused_at = 0;
    sender_->rouse(*peer_);
    peer_->name.bytes[3] ^= std::byte{0x55};
}

TEST_P(WakeUp, the_service_thread_sleeps_when_nothing_is_owed) {
    ASSERT_GE(target_->wait_descriptor(), 0);
    serve_memory();
    EXPECT_TRUE(falls_asleep());
}

// Asleep, the thread ticks before it polls. A message that comes before the next tick was not waited for by the clock.
TEST_P(WakeUp, the_service_thread_wakes_for_what_arrives) {
    serve_memory();
    int woken = 0;
    for (int round = 0; round < 12 && woken < 2; ++round) {  // twice: it sleeps and wakes again
        ASSERT_TRUE(falls_asleep()) << round;
        const Nanoseconds tick = target_->tick_time();
        const std::uint64_t expected = arrived() + 1;
        send();
        ASSERT_TRUE(until([&] {
            poll(*sender_);
            return arrived() == expected;
        })) << round;
        const std::scoped_lock lock(target_->mutex());
        if (counter_.tick == tick) ++woken;
    }
    EXPECT_EQ(woken, 2) << "each message waited for the next tick";
}

TEST_P(WakeUp, a_descriptor_that_cries_wolf_is_not_listened_to_for_ever) {
    if (!same_node_) GTEST_SKIP() << "has no bell to ring";
    serve_memory();
    const Deadline deadline(patience(60 * kSecond));
    int rings = 0;
    while (target_->wait_descriptor() >= 0 && !deadline.passed()) {
        ring();
        ++rings;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LT(target_->wait_descriptor(), 0) << "after " << rings << " rings";
    EXPECT_GT(rings, 30);
    EXPECT_TRUE(until([&] { return polls_in_half_a_second() > kMostPollsAsleep; })) << "it looks by the clock again";
    send();
    EXPECT_TRUE(until([&] {
        poll(*sender_);
        return arrived() == 1;
    }));
}

INSTANTIATE_TEST_SUITE_P(Providers, WakeUp, testing::Values("net", "tcp;ofi_rxm", "shm"), provider_word);

}  // namespace
}  // namespace duofi::test
