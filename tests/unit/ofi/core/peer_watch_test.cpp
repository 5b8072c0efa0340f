// Life of peers, common/ofi/peer_watch.cpp (architecture 4.8). Times are made up; nothing sleeps.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/ofi/core/endpoint_fixture.hpp"

namespace duofi::test {
namespace {

using ofi::MessageKind;
constexpr Nanoseconds kStep = 50 * kMillisecond;  // the service thread's tick

class PeerWatch : public EndpointTest {
  protected:
    void SetUp() override {
        open();
        peer_ = &peer();
        endpoint_->add_user(*peer_, user_);
        peer_->established = true;
        user_.waits = true;
        start_ = now_ns();
    }
    void TearDown() override {
        endpoint_->remove_user(*peer_, user_);
        EndpointTest::TearDown();
    }
    /// Lets the time pass to `until` after the start; `each` runs before every tick.
    template <typename F>
    void pass(Nanoseconds until, F&& each) {
        while (passed_ < until) {
            passed_ += kStep;
            each();
            endpoint_->tick(start_ + passed_);
            endpoint_->poll();
        }
    }
    void pass(Nanoseconds until) {
        pass(until, [] {});
    }
    int probes() const { return count_kind(*fake_, kRemote, MessageKind::probe); }

    ofi::Peer* peer_ = nullptr;
    FakeUser user_;
    Nanoseconds start_ = 0, passed_ = 0;
};

TEST_F(PeerWatch, SilenceAloneNeverLosesAPeer) {
    pass(1200 * kSecond);
    EXPECT_FALSE(peer_->lost);
    EXPECT_EQ(user_.lost, 0);
    EXPECT_GE(user_.ticks, 1000);
    EXPECT_EQ(user_.last_tick, start_ + passed_);
    EXPECT_EQ(endpoint_->tick_time(), start_ + passed_);
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
    EXPECT_GE(probes(), 1000) << "but it is asked";
    EXPECT_LE(probes(), 1201) << "once a second";
}

TEST_F(PeerWatch, NobodyIsAskedWhileNothingIsAwaited) {
    user_.waits = false;
    pass(60 * kSecond);
    EXPECT_EQ(fake_->send_attempts(), 0U);
    endpoint_->remove_user(*peer_, user_);
    user_.waits = true;
    pass(120 * kSecond);
    EXPECT_EQ(fake_->send_attempts(), 0U);
}

TEST_F(PeerWatch, NobodyIsAskedWhileSomethingIsHeard) {
    pass(30 * kSecond, [&] { ++peer_->heard; });
    EXPECT_EQ(probes(), 0);
}

TEST_F(PeerWatch, AProbeInFlightIsNotRepeated) {
    fake_->hold_sends(true);
    pass(60 * kSecond);
    EXPECT_EQ(probes(), 1);
    EXPECT_FALSE(peer_->lost);
}

TEST_F(PeerWatch, AnAnswerEndsTheSilence) {
    for (const double timeout_s : {5.0, 0.5}) {  // also one that is shorter than the time until it is asked
        settings_.peer_timeout_s = timeout_s;
        const int before = probes();
        int seen = before;
        pass(passed_ + 60 * kSecond, [&] {
            if (probes() == seen) return;
            seen = probes();
            say(MessageKind::probe_reply);
        });
        EXPECT_GE(seen - before, 25);
        EXPECT_FALSE(peer_->lost) << timeout_s;
    }
}

TEST_F(PeerWatch, SilenceForThePeerTimeoutLosesThePeer) {
    settings_.peer_timeout_s = 5;
    pass(5 * kSecond - kStep);
    EXPECT_FALSE(peer_->lost);
    pass(5 * kSecond + 2 * kStep);
    EXPECT_TRUE(peer_->lost);
    EXPECT_EQ(user_.lost, 1);
    EXPECT_EQ(log_.with("DUOFI_PEER_TIMEOUT").size(), 1U) << log_.dump();
    pass(30 * kSecond);
    EXPECT_EQ(user_.lost, 1);
    EXPECT_EQ(log_.with("peer lost").size(), 1U);
}

TEST_F(PeerWatch, ThePeerTimeoutCountsOnlyWhileSomethingIsAwaited) {
    settings_.peer_timeout_s = 5;
    user_.waits = false;
    pass(60 * kSecond);
    user_.waits = true;
    pass(64 * kSecond);
    EXPECT_FALSE(peer_->lost);
    pass(66 * kSecond);
    EXPECT_TRUE(peer_->lost);
}

TEST_F(PeerWatch, NothingCanBeSentFor4SecondsOfSilenceLosesThePeer) {
    fake_->refuse_sends(FakeEndpoint::kForEver);
    ASSERT_TRUE(send(*peer_, 1));
    pass(4 * kSecond - 2 * kStep);
    EXPECT_FALSE(peer_->lost);
    pass(4 * kSecond + 4 * kStep);
    EXPECT_TRUE(peer_->lost);
    EXPECT_EQ(user_.lost, 1);
    EXPECT_EQ(log_.with("nothing can be sent").size(), 1U) << log_.dump();
    EXPECT_EQ(fake_->sent_count(), 0U);
}

TEST_F(PeerWatch, AProbeThatCannotBeSentIsEvidenceToo) {
    fake_->refuse_sends(FakeEndpoint::kForEver);
    pass(4 * kSecond);
    EXPECT_FALSE(peer_->lost) << "blocked only since the probe";
    const Nanoseconds blocked_for_4_seconds = peer_->blocked_since + 4 * kSecond + 2 * kStep - start_;
    ASSERT_NE(peer_->blocked_since, 0);
    pass(blocked_for_4_seconds + kSecond);
    EXPECT_TRUE(peer_->lost);
}

TEST_F(PeerWatch, BackPressureOfATalkingPeerIsNoEvidence) {
    fake_->refuse_sends(FakeEndpoint::kForEver);
    ASSERT_TRUE(send(*peer_, 1));
    int tick = 0;
    pass(30 * kSecond, [&] {
        if (++tick % 10 == 0) ++peer_->heard;  // twice a second
    });
    EXPECT_FALSE(peer_->lost) << log_.dump();
    fake_->refuse_sends(0);
    pass(31 * kSecond);
    EXPECT_EQ(values_to(*fake_, kRemote), std::vector<std::uint64_t>{1});
    EXPECT_EQ(peer_->blocked_since, 0);
}

/// A large send that was refused and then given up leaves the peer marked as blocked.
TEST_F(PeerWatch, AnOldRefusalIsNoEvidenceWhenAnotherWaitBegins) {
    ofi::Operation operation;
    user_.waits = false;
    fake_->refuse_sends(1);
    ASSERT_EQ(endpoint_->post_tagged_send(*peer_, nullptr, 0, nullptr, 1, operation), ofi::Posted::again);
    pass(60 * kSecond);
    user_.waits = true;
    pass(61 * kSecond);
    EXPECT_FALSE(peer_->lost) << log_.dump();
    pass(120 * kSecond);
    EXPECT_FALSE(peer_->lost) << "the probes go through";
    EXPECT_GE(probes(), 50);
}

TEST_F(PeerWatch, AConnectionThatIsNotUpYetIsLeftToItsOwnDeadline) {
    peer_->established = false;
    settings_.peer_timeout_s = 5;
    fake_->refuse_sends(FakeEndpoint::kForEver);
    ASSERT_TRUE(send(*peer_, 1));
    pass(100 * kSecond);
    EXPECT_FALSE(peer_->lost) << log_.dump();
}

TEST_F(PeerWatch, APacketForADepartedPeerIsGivenUpAfterASecond) {
    fake_->refuse_sends(FakeEndpoint::kForEver);
    ASSERT_TRUE(send(*peer_, 1));
    say(MessageKind::goodbye);
    poll(2);
    ASSERT_TRUE(peer_->departed);
    EXPECT_TRUE(endpoint_->owes_progress());
    pass(2 * kSecond);
    EXPECT_TRUE(peer_->idle());
    EXPECT_EQ(user_.lost, 1) << "told once, when it departed";
    EXPECT_TRUE(log_.all().empty()) << log_.dump();
    user_.waits = false;
    EXPECT_FALSE(endpoint_->owes_progress());
}

class DeadProcess : public PeerWatch {
  protected:
    /// Who the peer is: a child of ours that has ended.
    static HostIdentity ended_process() {
        HostIdentity identity = read_host_identity();
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        EXPECT_GT(child, 0);
        EXPECT_EQ(::waitpid(child, nullptr, 0), child);
        identity.pid = static_cast<std::uint32_t>(child);
        identity.start_time = 0;
        return identity;
    }
};

TEST_F(DeadProcess, IsSeenAfterTheGrace) {
    endpoint_->identify(*peer_, ended_process(), 9000);
    ASSERT_TRUE(peer_->process_visible);
    pass(2 * kStep);
    EXPECT_FALSE(peer_->lost);
    pass(6 * kStep);
    EXPECT_TRUE(peer_->lost);
    EXPECT_EQ(user_.lost, 1);
    EXPECT_EQ(log_.with("its process is gone").size(), 1U);
}

TEST_F(DeadProcess, IsSeenAlsoWhileNothingIsAwaited) {
    user_.waits = false;
    endpoint_->identify(*peer_, ended_process(), 9000);
    pass(kSecond);
    EXPECT_TRUE(peer_->lost);
}

TEST_F(DeadProcess, ItsLastWordsAreHeardFirst) {
    endpoint_->identify(*peer_, ended_process(), 9000);
    pass(2 * kSecond, [&] { ++peer_->heard; });
    EXPECT_FALSE(peer_->lost);
    pass(3 * kSecond);
    EXPECT_TRUE(peer_->lost);
}

TEST_F(DeadProcess, OneThatLivesIsNotLost) {
    endpoint_->identify(*peer_, read_host_identity(), 9000);
    pass(60 * kSecond);
    EXPECT_FALSE(peer_->lost);
}

/// It may be stopped for minutes and go on then.
TEST_F(DeadProcess, OneThatLivesAndTakesNothingIsNotLost) {
    endpoint_->identify(*peer_, read_host_identity(), 9000);
    fake_->refuse_sends(FakeEndpoint::kForEver);
    ASSERT_TRUE(send(*peer_, 1));
    pass(300 * kSecond);
    EXPECT_FALSE(peer_->lost) << log_.dump();
    fake_->refuse_sends(0);
    pass(301 * kSecond);
    EXPECT_EQ(values_to(*fake_, kRemote), std::vector<std::uint64_t>{1});
}

TEST_F(DeadProcess, OneOfAnotherNodeCannotBeSeen) {
    HostIdentity identity = ended_process();
    identity.boot_hash ^= 1;
    endpoint_->identify(*peer_, identity, 9000);
    EXPECT_FALSE(peer_->process_visible);
    pass(60 * kSecond);
    EXPECT_FALSE(peer_->lost);
}

}  // namespace
}  // namespace duofi::test
