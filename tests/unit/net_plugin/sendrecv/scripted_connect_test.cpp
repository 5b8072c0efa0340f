// Connecting where every packet is the test's: what comes right behind the answer, and what moves while nobody polls.
#include <mutex>

#include "tests/unit/net_plugin/sendrecv/scripted.hpp"

namespace duofi::net::comm_test {
namespace {

using duofi::test::fake_name;
using duofi::test::PacketText;
using ofi::MessageKind;

class Answered : public Scripted {
  protected:
    /// The connection is handed out although `behind` came in the packet of the answer; what became of it shows at
    /// the first operation.
    void expect_handed_out(const std::function<void(PacketText&, std::uint32_t port)>& behind) {
        open();
        SendComm* attempt = ask();
        PacketText packet = welcome();
        behind(packet, said_hello().port);
        deliver(packet);
        const auto step = go_on(attempt);
        ASSERT_TRUE(step.has_value()) << log.dump();
        EXPECT_TRUE(step->ready);
        const Owned<SendComm> comm(step->comm);
        char byte = 0;
        const auto sent = comm->isend(&byte, 1, 0, nullptr);
        ASSERT_FALSE(sent.has_value());
        EXPECT_EQ(sent.error().code, Errc::remote);
        EXPECT_TRUE(log.all().empty()) << log.dump();
    }
};

TEST_F(Answered, ByACommThatClosesRightBehind) {
    expect_handed_out([](PacketText& packet, std::uint32_t port) { packet.add(MessageKind::net_close, port, {}); });
}

TEST_F(Answered, ByAnEndpointThatClosesRightBehind) {
    expect_handed_out([](PacketText& packet, std::uint32_t) { packet.add(MessageKind::goodbye, fake_name(kRemote)); });
}

TEST_F(Answered, NotAtAllByAnEndpointThatCloses) {
    open();
    SendComm* attempt = ask();
    deliver(PacketText().add(MessageKind::goodbye, fake_name(kRemote)));
    const auto step = go_on(attempt);
    ASSERT_FALSE(step.has_value());
    EXPECT_EQ(step.error().code, Errc::remote);
    EXPECT_EQ(log.with("connect failed: dev=duofi_fake0 peer=fake://1000").size(), 1u) << log.dump();
    drop_attempt();
}

class Unpolled : public Scripted {
  protected:
    /// Does `begin` make the service thread poll ahead of its next tick? A thread that is not woken sleeps until
    /// then, and ticks before it polls. On a busy machine a tick may come first, and once in a while a sleep may end
    /// early by itself, so 8 of at most 50 rounds without a tick count as yes.
    bool wakes_the_service_thread(const std::function<void()>& begin, const std::function<void()>& end) {
        int woken = 0;
        for (int round = 0; round < 50 && woken < 8; ++round) {
            const Nanoseconds tick = next_tick();
            begin();
            const std::uint64_t polls = side->ofi().poll_count();
            until("a poll", [&] { return side->ofi().poll_count() != polls; });
            {
                const std::scoped_lock lock(side->ofi().mutex());
                woken += side->ofi().tick_time() == tick;
            }
            end();
        }
        return woken == 8;
    }
};

TEST_F(Unpolled, AConnectGoesOnAtOnce) {
    open();
    SendComm* attempt = nullptr;
    EXPECT_TRUE(wakes_the_service_thread([&] { attempt = ask(); },
                                         [&] {
                                             deliver(welcome());
                                             const auto step = go_on(attempt);
                                             ASSERT_TRUE(step.has_value() && step->ready);
                                             close(step->comm);
                                             side->poll();
                                             fake->forget_sent();
                                         }));
}

TEST_F(Unpolled, AnAcceptGoesOnAtOnce) {
    open();
    Owned<RecvComm> comm;
    EXPECT_TRUE(wakes_the_service_thread(
        [&] {
            fake->hold_sends(true);  // its answer is not through yet
            comm = accepted();
        },
        [&] {
            fake->hold_sends(false);
            fake->complete_sends();
            comm.close();
            for (int i = 0; i < 3; ++i) side->poll();  // what is owed after this would keep the thread awake
        }));
}

}  // namespace
}  // namespace duofi::net::comm_test
