// Units: net_plugin/comms/transfer_report.
// What the log says of large transfers that the provider gives back with an error (A21), and of requests that
// nothing happens to (architecture 4.8).
#include "tests/unit/net_plugin/sendrecv/announcements.hpp"
#include "tests/unit/net_plugin/sendrecv/scripted.hpp"

#include "net_plugin/comms/wire.hpp"

namespace duofi::net::comm_test {
namespace {

class TransferReport : public Scripted {
  protected:
    /// One line with every fact, and the peer is lost.
    void expect_report(const std::string& operation, const std::string& tag) {
        const auto lines = log.with("op=" + operation);
        ASSERT_EQ(lines.size(), 1u) << log.dump();
        for (const std::string& part :
             {std::string("size=20000"), "tag=" + tag, std::string("dev=duofi_fake0"), std::string("provider=fake"),
              std::string("peer=fake://1000"), std::string("err=5 ")})
            EXPECT_NE(lines[0].text.find(part), std::string::npos) << part << " in " << lines[0].text;
        EXPECT_EQ(log.with("peer lost").size(), 1u) << log.dump();
        EXPECT_EQ(log.all().size(), 2u) << log.dump();
    }
    std::vector<unsigned char> data = std::vector<unsigned char>(kLarge);
};

TEST_F(TransferReport, AFailedSendIsToldOnceAndLosesThePeer) {
    open();
    Owned<SendComm> comm = connected();
    const Announcement ready[] = {{5, 0, kLarge, 1, 0}, {5, 1, kLarge, 2, 0}};
    deliver(test::PacketText().add(ofi::MessageKind::net_announce, said_hello().port, announcement_bytes(ready)));
    side->poll();
    fake->hold_sends(true);
    std::vector<Request*> sends;
    for (int i = 0; i < 3; ++i) sends.push_back(send(*comm.get(), data.data(), kLarge, 5));
    until("both announced sends", [&] {
        side->poll();
        return fake->in_flight() >= 2;
    });
    fake->complete_send(0, FI_EIO);
    fake->complete_send(0, FI_EIO);
    for (const Outcome& end : finish(sends)) EXPECT_EQ(end.result, ncclRemoteError);
    expect_report("isend", "0x5");
}

TEST_F(TransferReport, AFailedReceiveIsToldOnceAndLosesThePeer) {
    open();
    Owned<RecvComm> comm = accepted();
    std::vector<Request*> receives;
    for (int i = 0; i < 2; ++i) receives.push_back(receive(*comm.get(), data.data(), kLarge, 6));
    until("both receives", [&] {
        side->poll();
        return fake->posted_tagged_receives() == 2;
    });
    fake->fail_tagged_receive(FI_EIO);
    fake->fail_tagged_receive(FI_EIO);
    for (const Outcome& end : finish(receives)) EXPECT_EQ(end.result, ncclRemoteError);
    expect_report("irecv", "0x6");
}

// Taken back because the sender has closed: the caller learns it, the log has nothing to add.
TEST_F(TransferReport, AReceiveOfAClosedSenderFailsQuietly) {
    open();
    Listener listener = asked_for();
    Owned<RecvComm> comm = accept_one(*listener.comm.get());
    Request* request = receive(*comm.get(), data.data(), kLarge, 6);
    until("the receive", [&] {
        side->poll();
        return fake->posted_tagged_receives() == 1;
    });
    const auto said = test::messages_to(*fake, kRemote);
    const auto answer = ofi::parse_welcome(said.at(0).payload);
    ASSERT_TRUE(answer);
    deliver(test::PacketText().add(ofi::MessageKind::net_close, answer->port, {}));
    EXPECT_EQ(finish(request).result, ncclRemoteError);
    EXPECT_TRUE(log.all().empty()) << log.dump();
}

TEST_F(TransferReport, ARequestThatWaitsTooLongIsToldOnce) {
    open([](Settings& settings) { settings.stall_seconds = 0.12; });
    Owned<SendComm> sender = connected();
    Owned<RecvComm> receiver = accepted();
    Request* s = send(*sender.get(), data.data(), kLarge, 8);
    Request* r = receive(*receiver.get(), {{data.data(), 10, 9}, {data.data(), 20, 10}});
    until("both lines", [&] { return log.with("no progress").size() == 2; });
    for (int i = 0; i < 3; ++i) (void)next_tick();
    ASSERT_EQ(log.all().size(), 2u) << log.dump();
    EXPECT_EQ(log.with("op=isend dev=duofi_fake0 peer=fake://1000 size=20000 tag=8 age=0s").size(), 1u) << log.dump();
    EXPECT_EQ(log.with("op=irecv dev=duofi_fake0 peer=fake://1000 size=10 tag=9 age=0s").size(), 1u) << log.dump();
    EXPECT_TRUE(s->pending() && r->pending()) << "a line is no failure";
    Request* next = receive(*receiver.get(), data.data(), 30, 11);
    until("a line for the next request", [&] { return log.with("tag=11").size() == 1; });
    EXPECT_TRUE(next->pending());
}

TEST_F(TransferReport, ZeroSecondsMeanNever) {
    open([](Settings& settings) { settings.stall_seconds = 0; });
    Owned<RecvComm> receiver = accepted();
    (void)receive(*receiver.get(), data.data(), 10, 9);
    for (int i = 0; i < 4; ++i) (void)next_tick();
    EXPECT_TRUE(log.all().empty()) << log.dump();
}

}  // namespace
}  // namespace duofi::net::comm_test
