// Units: rma_plugin/lane, rma_plugin/data_call.
// What leaves a lane, and in which order: data before its signal, whatever the provider refuses (G-5, G-8, Q-2, P-2).
#include <cstring>

#include "rma_plugin/lane.hpp"
#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

using duofi::test::FakeEndpoint;
using duofi::test::FakeTransfer;

class LaneOrder : public ScriptedGroup {
  protected:
    [[nodiscard]] SignalBody body_of(std::uint32_t rank, std::size_t index) const {
        SignalBody body;
        const auto signals = said(rank, MessageKind::rma_signal);
        std::memcpy(&body, signals.at(index).payload.data(), sizeof(body));
        return body;
    }
    [[nodiscard]] std::size_t signals(std::uint32_t rank = kHigh) const {
        return said(rank, MessageKind::rma_signal).size();
    }
    void expect_written(const FakeTransfer& transfer, std::uint64_t offset, std::size_t size) const {
        EXPECT_FALSE(transfer.read);
        EXPECT_EQ(transfer.remote, number(kHigh));
        EXPECT_EQ(transfer.address, part_of(kHigh, 0).address + 64 + offset);
        EXPECT_EQ(transfer.key, part_of(kHigh, 0).key);
        EXPECT_EQ(transfer.data, bytes + offset);
        EXPECT_EQ(transfer.size, size);
    }
};

TEST_F(LaneOrder, a_put_is_one_write_and_its_signal_a_message_behind_it) {
    join();
    ASSERT_NE(put_signal(kHigh, 100, 8, 5), nullptr);
    ASSERT_EQ(fake->transfers().size(), 1u);
    expect_written(fake->transfers()[0], 0, 100);
    ASSERT_EQ(signals(), 1u);
    const SaidMessage signal = said(kHigh, MessageKind::rma_signal)[0];
    EXPECT_EQ(signal.header.word, window(memory).id());
    EXPECT_EQ(signal.header.value, 8u);
    EXPECT_EQ(signal.header.flags, kOwn);
    const SignalBody body = body_of(kHigh, 0);
    EXPECT_EQ(body.addend, 5u);
    EXPECT_EQ(body.sequence, 1u);
    EXPECT_EQ(body.index, 0u);
    EXPECT_EQ(body.answer, 1u);
    EXPECT_GT(place_of(kHigh, MessageKind::rma_signal), fake->transfers()[0].place);
    EXPECT_EQ(signals(kLow), 0u);
}

TEST_F(LaneOrder, INC_adds_one_whatever_the_value_says) {
    join();
    void* request = nullptr;
    ASSERT_EQ(iput_signal(caller(), 0, 0, nullptr, 0, 0, nullptr, kHigh, 16, memory, 77, 1, false, 0, &request), ncclSuccess);
    EXPECT_EQ(body_of(kHigh, 0).addend, 1u);
    EXPECT_TRUE(fake->transfers().empty()) << "no data, no handles looked at (G-1)";
}

TEST_F(LaneOrder, the_signal_waits_while_the_write_is_refused) {
    join();
    for (const int refusals : {1, 2, 17}) {
        fake->forget_sent();
        fake->forget_transfers();
        fake->refuse_transfers(refusals);
        ASSERT_NE(put_signal(kHigh, 100), nullptr) << "EAGAIN is never told (Q-2)";
        for (int i = 1; i < refusals; ++i) {
            EXPECT_EQ(signals(), 0u) << "after refusal " << i << " of " << refusals;
            poll();
        }
        EXPECT_EQ(signals(), 0u) << "after all " << refusals << " refusals";
        poll();
        ASSERT_EQ(fake->transfers().size(), 1u) << refusals;
        ASSERT_EQ(signals(), 1u) << refusals;
        EXPECT_GT(place_of(kHigh, MessageKind::rma_signal), fake->transfers()[0].place);
    }
}

TEST_F(LaneOrder, nothing_passes_a_refused_write) {
    join();
    fake->refuse_transfers(FakeEndpoint::kForEver);
    ASSERT_NE(put_signal(kHigh, 10), nullptr);
    ASSERT_NE(put_signal(kHigh, 0), nullptr) << "a signal alone";
    ASSERT_NE(put(kHigh, 20), nullptr);
    ASSERT_NE(put_signal(kHigh, 30), nullptr);
    poll(50);
    EXPECT_EQ(signals(), 0u);
    EXPECT_TRUE(said(kHigh, MessageKind::rma_mark).empty());
    fake->refuse_transfers(0);
    poll();
    ASSERT_EQ(fake->transfers().size(), 3u);
    ASSERT_EQ(signals(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(body_of(kHigh, i).index, i);
    EXPECT_EQ(body_of(kHigh, 2).sequence, 4u);
    EXPECT_GT(place_of(kHigh, MessageKind::rma_signal, 0), fake->transfers()[0].place);
    EXPECT_GT(place_of(kHigh, MessageKind::rma_signal, 2), fake->transfers()[2].place);
}

TEST_F(LaneOrder, a_refusal_of_one_rank_holds_up_no_other) {
    join();
    fake->refuse_transfers(1);
    ASSERT_NE(put_signal(kHigh, 10), nullptr);
    ASSERT_NE(put_signal(kLow, 10), nullptr);
    EXPECT_EQ(signals(kLow), 1u);
    EXPECT_EQ(signals(kHigh), 0u);
    poll();
    EXPECT_EQ(signals(kHigh), 1u);
}

TEST_F(LaneOrder, all_contexts_of_a_group_share_the_order) {
    join();
    Context& other = group->add_context(1);
    fake->refuse_transfers(FakeEndpoint::kForEver);
    ASSERT_NE(put(kHigh, 10), nullptr);
    void* request = nullptr;
    ASSERT_EQ(iput_signal(other.handle, 0, 0, nullptr, 0, 0, nullptr, kHigh, 0, memory, 1, 1, true, 0, &request), ncclSuccess);
    poll(5);
    EXPECT_EQ(signals(), 0u);
    fake->refuse_transfers(0);
    poll();
    EXPECT_EQ(signals(), 1u);
    EXPECT_GT(place_of(kHigh, MessageKind::rma_signal), fake->transfers().at(0).place);
}

class Pieces : public LaneOrder {
  protected:
    void SetUp() override {
        settings.rma_segment = 64;
        join();
    }
};

TEST_F(Pieces, leave_one_at_a_time_and_the_signal_behind_the_last) {
    fake->hold_transfers(true);
    Request* request = put_signal(kHigh, 200);
    for (std::size_t piece = 0; piece < 4; ++piece) {
        poll(3);
        ASSERT_EQ(fake->transfers().size(), piece + 1);
        ASSERT_EQ(fake->transfers_in_flight(), 1u);
        expect_written(fake->transfers()[piece], 64 * piece, piece < 3 ? 64 : 8);
        ASSERT_EQ(signals(), piece < 3 ? 0u : 1u) << piece;
        EXPECT_EQ(ask(request), kNotYet);
        fake->complete_transfer(0);
    }
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(request), kDone);
    EXPECT_GT(place_of(kHigh, MessageKind::rma_signal), fake->transfers()[3].place);
}

TEST_F(Pieces, may_be_refused_in_the_middle) {
    fake->hold_transfers(true);
    ASSERT_NE(put_signal(kHigh, 200), nullptr);
    for (std::size_t piece = 1; piece < 4; ++piece) {
        fake->refuse_transfers(3);
        fake->complete_transfer(0);
        poll(3);
        EXPECT_EQ(fake->transfers().size(), piece) << "refused";
        EXPECT_EQ(signals(), 0u) << piece;
        poll();
        ASSERT_EQ(fake->transfers().size(), piece + 1);
        expect_written(fake->transfers()[piece], 64 * piece, piece < 3 ? 64 : 8);
    }
    EXPECT_EQ(signals(), 1u);
}

TEST_F(Pieces, of_the_next_operation_wait_for_those_of_this_one) {
    fake->hold_transfers(true);
    ASSERT_NE(put(kHigh, 100), nullptr);
    ASSERT_NE(put_signal(kHigh, 10), nullptr);
    poll(3);
    EXPECT_EQ(fake->transfers().size(), 1u);
    fake->complete_transfer(0);
    poll();
    ASSERT_EQ(fake->transfers().size(), 3u) << "the last piece need not complete first";
    EXPECT_EQ(fake->transfers()[1].size, 36u);
    EXPECT_EQ(fake->transfers()[2].size, 10u);
    EXPECT_EQ(signals(), 1u);
}

TEST_F(LaneOrder, a_refused_signal_packet_leaves_before_the_next_signal) {
    join();
    fake->refuse_sends(3);
    ASSERT_NE(put_signal(kHigh, 10, 0, 1), nullptr);
    ASSERT_NE(put_signal(kHigh, 10, 8, 2), nullptr);
    EXPECT_EQ(signals(), 0u);
    poll(5);
    ASSERT_EQ(signals(), 2u);
    EXPECT_EQ(body_of(kHigh, 0).addend, 1u);
    EXPECT_EQ(body_of(kHigh, 1).addend, 2u);
    EXPECT_EQ(body_of(kHigh, 1).index, 1u);
    EXPECT_GT(place_of(kHigh, MessageKind::rma_signal, 1), fake->transfers()[1].place);
}

// A signal that finds no memory for its packet has not been sent: the numbers have no gap.
TEST_F(LaneOrder, a_signal_without_a_packet_is_tried_again) {
    mr_mode = FI_MR_LOCAL;
    join();
    fake->hold_sends(true);
    fabric.fail_next("fi_mr_regattr", -FI_ENOMEM, 3);
    constexpr std::uint32_t kMany = 4000;  // more than one slab of packets holds
    for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_NE(put_signal(kHigh, 0), nullptr) << i;
    EXPECT_FALSE(log.with("op=regMr").empty()) << "the test wants a packet to be missing";
    for (int i = 0; i < 5000 && signals() < kMany; ++i) {
        fake->complete_sends();
        poll();
    }
    ASSERT_EQ(signals(), kMany);
    const auto all = said(kHigh, MessageKind::rma_signal);
    for (std::uint32_t i = 0; i < kMany; ++i) {
        SignalBody body;
        std::memcpy(&body, all[i].payload.data(), sizeof(body));
        ASSERT_EQ(body.index, i);
        ASSERT_EQ(body.sequence, i + 1);
    }
}

}  // namespace
}  // namespace duofi::rma::unit
