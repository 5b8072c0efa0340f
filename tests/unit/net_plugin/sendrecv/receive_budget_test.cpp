// Units: net_plugin/sendrecv/receive_budget, net_plugin/sendrecv/tagged_path.
// Announced large receives leave the provider room for what everybody waits for.
#include "net_plugin/sendrecv/receive_budget.hpp"

#include "tests/unit/net_plugin/sendrecv/wire_fixture.hpp"

namespace duofi::net::comm_test {
namespace {

TEST(ReceiveBudget, KeepsItsLastQuarterForReceivesThatWereAskedFor) {
    ReceiveBudget budget(16);
    for (int i = 0; i < 12; ++i) EXPECT_TRUE(budget.take(false)) << i;
    EXPECT_FALSE(budget.take(false));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(budget.take(true)) << i;
    EXPECT_FALSE(budget.take(true));
    for (int i = 0; i < 4; ++i) budget.give_back();
    EXPECT_FALSE(budget.take(false)) << "12 are still there, whichever they are";
    budget.give_back();
    EXPECT_TRUE(budget.take(false));
    EXPECT_EQ(budget.posted(), 12u);
}

TEST(ReceiveBudget, CountsThoseThatTakeAPlaceOver) {
    ReceiveBudget budget(4);
    for (int i = 0; i < 6; ++i) budget.take_over();
    EXPECT_FALSE(budget.take(true));
    for (int i = 0; i < 3; ++i) budget.give_back();
    EXPECT_TRUE(budget.take(true));
    EXPECT_FALSE(budget.take(true));
}

TEST(ReceiveBudget, IsEndlessWhereTheProviderSetsNoBound) {
    ReceiveBudget budget;
    for (int i = 0; i < 100000; ++i) ASSERT_TRUE(budget.take(false));
}

/// A receive comm whose caller has posted more large receives than shm of libfabric 1.17 keeps of all kinds (1024),
/// and whose sender has nothing to send yet.
class ManyLargeReceives : public OverWire<WireSender> {
  protected:
    void SetUp() override {
        OverWire::SetUp();
        if (IsSkipped()) return;
        for (std::size_t i = 0; i < kMaxRecvRequests; ++i)
            requests.push_back(receive(*peer.recv.get(), std::vector<RecvBuffer>(8, {in.data(), kLarge, 1})));
        until("announcements to end", [&] {
            const std::size_t before = peer.link->announcements().size();
            pump(50);
            return before != 0 && peer.link->announcements().size() == before;
        });
    }
    std::vector<unsigned char> in = std::vector<unsigned char>(kLarge);
    std::vector<Request*> requests;
};

TEST_P(ManyLargeReceives, AreBoundedWhereTheProviderBoundsThem) {
    const std::size_t all = 8 * kMaxRecvRequests;
    const bool bounded = std::string(GetParam()) == "shm";
    const std::size_t half = find_device(GetParam())->info->rx_attr->size / 2;
    EXPECT_EQ(side->posted_receives(), bounded ? half - half / 4 : all);
}

TEST_P(ManyLargeReceives, LeaveRoomForMessages) {
    WireSender other = wire_sender(*node, *side);
    const auto out = bytes_of(100, 3);
    std::vector<unsigned char> small(100);
    for (std::uint32_t i = 0; i < 400; ++i) {
        Request* request = receive(*other.recv.get(), small.data(), small.size(), 1);
        other.link->eager(1, i, out);
        until("a small message", [&] {
            pump(1);
            return !request->pending();
        });
        EXPECT_EQ(finish(request).sizes, std::vector<int>{100}) << i;
    }
}

TEST_P(ManyLargeReceives, GoOnWhereTheSenderIsReady) {
    const std::size_t told = peer.link->announcements().size();
    const bool full = told < 8 * kMaxRecvRequests;  // net takes them all
    WireSender other = wire_sender(*node, *side);
    Request* request = receive(*other.recv.get(), in.data(), kLarge, 5);
    pump(200);
    EXPECT_EQ(other.link->announcements().empty(), full);
    other.link->send(MessageKind::net_want, 5, 0);
    // The last of the long row too, ahead of all others.
    peer.link->send(MessageKind::net_want, 1, 8 * kMaxRecvRequests - 1);
    until("what was asked for", [&] {
        pump(1);
        return !other.link->announcements().empty() && (!full || peer.link->announcements().size() > told);
    });
    EXPECT_EQ(peer.link->announcements().back().index, 8 * kMaxRecvRequests - 1);
    const auto out = bytes_of(kLarge, 9);
    const Announcement a = other.link->announcements()[0];
    EXPECT_EQ(other.link->send_data(data_tag(other.link->remote_port(), a.sequence), out), 0);
    EXPECT_EQ(finish(request).sizes, std::vector<int>{static_cast<int>(kLarge)});
    EXPECT_EQ(in, out);
}

TEST_P(ManyLargeReceives, AllGetTheirDataInTheEnd) {
    const auto out = bytes_of(kLarge, 4);
    std::size_t sent = 0;
    while (sent < 8 * kMaxRecvRequests) {
        const auto told = peer.link->announcements();
        for (; sent < told.size(); ++sent)
            ASSERT_EQ(peer.link->send_data(data_tag(peer.link->remote_port(), told[sent].sequence), out), 0);
        pump(1);
    }
    for (const Outcome& end : finish(requests)) EXPECT_EQ(end.sizes, std::vector<int>(8, static_cast<int>(kLarge)));
    EXPECT_EQ(side->posted_receives(), 0u);
}

DUOFI_OVER_PROVIDERS(ManyLargeReceives);

}  // namespace
}  // namespace duofi::net::comm_test
