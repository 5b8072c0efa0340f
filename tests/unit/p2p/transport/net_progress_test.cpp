// The state tables of the proxy (p2p contract 5.3), one call after the other, with a kernel played by
// the test.
// Units: p2p/transport/net_progress p2p/transport/net_edge.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "p2p/transport/net_context.hpp"
#include "p2p/transport/net_edge.hpp"
#include "p2p/transport/net_transport.hpp"
#include "tests/unit/p2p/transport/net_nodes.hpp"

namespace duofi::p2p::test {
namespace {

/// Both ends of one NET edge of two thread ranks, without operations.
class Progress : public testing::Test {
  protected:
    void SetUp() override {
        use_fake_net(8, {.attempts = 1, .tests = 1});
        team_ = std::make_unique<Team>(2, "host", on_nodes(1));
        ASSERT_TRUE(team_->whole());
        team_->connect_all();
        send_.edge = edge(0, true);
        recv_.edge = edge(1, false);
        send_.half = &net_transport.send;
        recv_.half = &net_transport.recv;
    }
    void TearDown() override {
        team_->tear_down();
        team_.reset();
        EXPECT_TRUE(fake_net_is_closed());
        stop_fake_net();
    }
    [[nodiscard]] NetEdge* edge(int rank, bool sends) {
        ncclPeer& entry = team_->comm(rank).channels.front().peers[1 - rank];
        return static_cast<NetEdge*>(
            (sends ? entry.send : entry.recv).transportResources);
    }
    void begin(Protocol protocol, std::uint64_t steps, std::uint32_t slice = 1,
               std::uint32_t chunk = 1) {
        for (ncclProxyArgs* args : {&send_, &recv_}) {
            ASSERT_TRUE(args->edge->know_buffer(protocol));
            args->work = {protocol, steps, slice, chunk};
            args->finished = false;
            ASSERT_TRUE(net_begin(args));
        }
    }
    void kernel_writes(std::uint64_t step, const std::string& text, std::uint64_t n = 1) {
        NetEdge& e = *send_.edge;
        NetBuffer& buffer = e.buffers[static_cast<std::size_t>(send_.work.protocol)];
        std::memcpy(buffer.fifo + step % 8 * (buffer.bytes / 8), text.data(), text.size());
        e.recv_mem->sizesFifo[step % 8] = static_cast<std::int32_t>(text.size());
        std::atomic_ref(e.recv_mem->tail).store(step + n);
    }
    [[nodiscard]] std::string kernel_reads(std::uint64_t step, std::size_t bytes) {
        NetBuffer& buffer = recv_.edge->buffers[static_cast<std::size_t>(recv_.work.protocol)];
        return {buffer.fifo + step % 8 * (buffer.bytes / 8), bytes};
    }
    [[nodiscard]] std::uint64_t head(const ncclProxyArgs& args) const {
        return args.edge->send_mem->head;
    }
    [[nodiscard]] std::uint64_t tail(const ncclProxyArgs& args) const {
        return args.edge->recv_mem->tail;
    }
    void step_send() { ASSERT_EQ(net_send_proxy(&send_), ncclSuccess); }
    void step_recv() { ASSERT_EQ(net_recv_proxy(&recv_), ncclSuccess); }

    std::unique_ptr<Team> team_;
    ncclProxyArgs send_, recv_;
};

TEST_F(Progress, EdgesAreWiredToTheirOwnMemory) {  // p2p contract 5.2
    const ncclPeer& sender = team_->comm(0).channels.front().devPeers[1];
    const ncclPeer& receiver = team_->comm(1).channels.front().devPeers[0];
    EXPECT_EQ(sender.send.conn.head, &send_.edge->send_mem->head);
    EXPECT_EQ(sender.send.conn.tail, &send_.edge->recv_mem->tail);
    EXPECT_EQ(sender.send.conn.sizesFifo, send_.edge->recv_mem->sizesFifo);
    EXPECT_EQ(receiver.recv.conn.sizesFifo, nullptr);
    for (int i = 0; i < NCCL_STEPS; ++i) EXPECT_EQ(send_.edge->recv_mem->sizesFifo[i], -1);
    for (const ncclConnInfo* conn : {&sender.send.conn, &receiver.recv.conn}) {
        EXPECT_EQ(conn->direct, 0);
        EXPECT_EQ(conn->shared, 0);
        EXPECT_EQ(conn->ptrsFifo, nullptr);
        EXPECT_LT(conn->buffs[0], conn->buffs[1]);
        EXPECT_LT(conn->buffs[1], conn->buffs[2]);
    }
}

TEST_F(Progress, NothingIsSentBeforeTheKernelHasWritten) {
    begin(Protocol::simple, 2);
    step_send();
    EXPECT_TRUE(send_.moved) << "posted";
    step_send();
    EXPECT_EQ(fake_counts().messages, 0);
    send_.edge->recv_mem->tail = 1;  // published, but without its size
    step_send();
    EXPECT_EQ(fake_counts().messages, 0);
    kernel_writes(0, "one");
    step_send();
    EXPECT_EQ(fake_counts().messages, 1);
    EXPECT_EQ(send_.edge->recv_mem->sizesFifo[0], -1) << "taken";
    EXPECT_EQ(head(send_), 1u) << "done when test says so";
    kernel_writes(1, "two");
    for (int i = 0; i < 5; ++i) step_send();
    EXPECT_TRUE(send_.finished);
    EXPECT_TRUE(net_end(&send_));
    EXPECT_EQ(send_.edge->step, 2u);
    begin(Protocol::simple, 2);
    for (int i = 0; i < 8; ++i) step_recv();
}

TEST_F(Progress, AMessageIsPublishedWhenItHasArrived) {
    begin(Protocol::simple, 2);
    step_recv();
    EXPECT_EQ(tail(recv_), 0u);
    kernel_writes(0, "hello");
    step_send();
    for (int i = 0; i < 3; ++i) step_send();
    for (int i = 0; i < 3; ++i) step_recv();
    EXPECT_EQ(tail(recv_), 1u);
    EXPECT_EQ(kernel_reads(0, 5), "hello");
    EXPECT_FALSE(recv_.finished) << "the kernel has not read it";
    kernel_writes(1, "");
    for (int i = 0; i < 4; ++i) step_send();
    for (int i = 0; i < 4; ++i) step_recv();
    EXPECT_EQ(tail(recv_), 2u) << "also a message of nothing";
    std::atomic_ref(recv_.edge->send_mem->head).store(2);
    for (int i = 0; i < 3; ++i) step_recv();
    EXPECT_TRUE(recv_.finished && send_.finished);
}

TEST_F(Progress, AtMostEightRequestsAreUnderWay) {
    begin(Protocol::simple, 20);
    for (int i = 0; i < 40; ++i) step_recv();
    EXPECT_EQ(fake_counts().requests, NCCL_STEPS);
    EXPECT_EQ(recv_.edge->now.posted, 8u);
    for (std::uint64_t step = 0; step < 8; ++step) kernel_writes(step, "x");
    for (int i = 0; i < 40; ++i) step_send();
    for (int i = 0; i < 40; ++i) step_recv();
    EXPECT_EQ(tail(recv_), 8u);
    EXPECT_EQ(recv_.edge->now.posted, 8u) << "slots that the kernel still reads";
    std::atomic_ref(recv_.edge->send_mem->head).store(3);
    for (int i = 0; i < 40; ++i) step_recv();
    EXPECT_EQ(recv_.edge->now.posted, 11u);
    EXPECT_LE(fake_counts().most_requests, NCCL_STEPS);
    EXPECT_FALSE(net_end(&recv_)) << "requests are under way";
    EXPECT_FALSE(net_begin(&recv_));
}

TEST_F(Progress, DoneNeverPassesTransmitted) {
    begin(Protocol::ll, 3);
    std::atomic_ref(recv_.edge->send_mem->head).store(3);  // a kernel that did not wait
    for (int i = 0; i < 20; ++i) step_recv();
    EXPECT_EQ(recv_.edge->now.done, 0u);
    EXPECT_FALSE(recv_.finished);
}

TEST_F(Progress, SlicesOfSeveralStepsAreOneMessage) {
    send_.edge->step = recv_.edge->step = 1;
    begin(Protocol::simple, 4, 2, 4);
    EXPECT_EQ(send_.edge->now.done, 4u) << "a multiple of the chunk";
    EXPECT_EQ(head(send_), 4u) << "skipped credits go back";
    const std::size_t slot = team_->comm(0).buff_sizes.slot(Protocol::simple);
    kernel_writes(4, std::string(slot + 10, 's'), 2);
    kernel_writes(6, "end", 2);
    for (int i = 0; i < 10; ++i) step_send();
    EXPECT_EQ(fake_counts().messages, 2);
    EXPECT_EQ(head(send_), 8u);
    for (int i = 0; i < 10; ++i) step_recv();
    EXPECT_EQ(tail(recv_), 8u);
    EXPECT_EQ(kernel_reads(4, slot + 10), std::string(slot + 10, 's'));
    std::atomic_ref(recv_.edge->send_mem->head).store(8);
    for (int i = 0; i < 4; ++i) step_recv();
    EXPECT_TRUE(recv_.finished && send_.finished);
}

TEST_F(Progress, LinesShowThemselvesOnlyWhenAllHasArrived) {
    change_fake_plan({.attempts = 1, .tests = 4});  // the second half is there first
    begin(Protocol::ll, 1);
    std::string lines(64, '\0');
    auto* words = reinterpret_cast<std::uint64_t*>(lines.data());
    ll_write<HardwareMemory>(words, "0123456789abcdef0123456789abcdef", 32, 1);
    kernel_writes(0, lines);
    step_send();
    for (int looks = 0; looks < 20 && tail(recv_) == 0; ++looks) {
        EXPECT_EQ(kernel_reads(0, 64), std::string(64, '\0')) << "after " << looks << " looks";
        step_send();
        step_recv();
    }
    EXPECT_EQ(tail(recv_), 1u);
    EXPECT_EQ(kernel_reads(0, 64), lines);
}

TEST_F(Progress, OldLinesAreCleanedBeforeTheirFlagsComeAgain) {  // C-42
    recv_.edge->ll = {.flag_mask = 0xff, .clean_mask = 0x078};
    recv_.edge->next_clean = recv_.edge->ll.next_clean(0x70);
    recv_.edge->step = send_.edge->step = 0x70;
    NetBuffer& buffer = recv_.edge->buffers[NCCL_PROTO_LL];
    std::memset(buffer.fifo, 0x11, buffer.bytes);
    recv_.edge->step = 0x81;  // steps 0x78 to 0x7f were skipped or had other protocols
    begin(Protocol::simple, 1);
    for (std::size_t step = 0x78; step < 0x80; ++step) {
        const auto* line = reinterpret_cast<const std::uint64_t*>(
            buffer.fifo + step % 8 * (buffer.bytes / 8));
        EXPECT_EQ(line[0], (step + 1) << 32) << step;
        EXPECT_EQ(line[buffer.bytes / 64 - 1], (step + 1) << 32) << step;
    }
}

TEST_F(Progress, RefusedPostsAreTriedAgain) {
    change_fake_plan({.attempts = 1, .tests = 1, .refusals = 2});
    begin(Protocol::simple, 6);
    for (std::uint64_t step = 0; step < 6; ++step) kernel_writes(step, "again");
    for (int i = 0; i < 40; ++i) {
        step_send();
        step_recv();
    }
    EXPECT_EQ(tail(recv_), 6u);
    EXPECT_TRUE(send_.finished);
}

TEST_F(Progress, FailuresNameTheEntry) {
    begin(Protocol::simple, 2);
    change_fake_plan({.fail = "irecv", .result = ncclSystemError});
    EXPECT_EQ(net_recv_proxy(&recv_), ncclSystemError);
    EXPECT_STREQ(recv_.failed_call, "irecv");
    kernel_writes(0, "x");
    change_fake_plan({.fail = "isend"});
    EXPECT_EQ(net_send_proxy(&send_), ncclRemoteError);
    EXPECT_STREQ(send_.failed_call, "isend");
    change_fake_plan({.tests = 9});
    step_send();
    change_fake_plan({.fail = "test"});
    EXPECT_EQ(net_send_proxy(&send_), ncclRemoteError);
    EXPECT_STREQ(send_.failed_call, "test");
    team_->comm(0).abort();
    team_->comm(1).abort();
    team_->run([](int, Communicator& communicator) { (void)communicator.tear_down(); });
    stop_fake_net();
    use_fake_net(8);
}

}  // namespace
}  // namespace duofi::p2p::test
