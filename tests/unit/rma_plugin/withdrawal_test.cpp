// Units: rma_plugin/lane, rma_plugin/window_table.
// A rank is about to deregister its part: what has not left stays here, what is under way comes first, then our word that
// nothing more comes (X-7, M-13).
#include <cstring>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

using duofi::test::FakeEndpoint;

class Withdrawal : public ScriptedGroup {
  protected:
    void SetUp() override {
        settings.rma_segment = 64;
        join();
        other = reg(bytes, kBytes / 2, 1);
        ASSERT_NE(other, nullptr);
    }
    void withdraw() {
        say(kHigh, MessageKind::rma_window_close, window(memory).id());
        poll();
    }
    [[nodiscard]] std::size_t answers() const { return said(kHigh, MessageKind::rma_window_closed).size(); }
    [[nodiscard]] std::size_t signals() const { return said(kHigh, MessageKind::rma_signal).size(); }
    Request* put_elsewhere(std::uint64_t signal_word) {
        void* request = nullptr;
        result = iput_signal(caller(), 0, 0, other, 8, 0, other, kHigh, signal_word, other, 1, 1, true, 0, &request);
        return static_cast<Request*>(request);
    }
    void* other = nullptr;  ///< a window that stays
};

TEST_F(Withdrawal, of_an_unused_window_is_answered_at_once) {
    withdraw();
    ASSERT_EQ(answers(), 1u);
    EXPECT_EQ(said(kHigh, MessageKind::rma_window_closed)[0].header.word, window(memory).id());
    EXPECT_TRUE(said(kLow, MessageKind::rma_window_closed).empty());
}

TEST_F(Withdrawal, of_a_window_nobody_knows_is_answered_too) {
    say(kHigh, MessageKind::rma_window_close, 77);
    poll();
    EXPECT_EQ(answers(), 1u);
}

TEST_F(Withdrawal, drops_puts_that_have_not_left) {
    fake->refuse_transfers(FakeEndpoint::kForEver);
    Request* dropped = put(kHigh, 10);
    Request* kept = put_elsewhere(0);
    withdraw();
    EXPECT_EQ(ask(dropped), kDone);
    EXPECT_EQ(answers(), 1u);
    fake->refuse_transfers(0);
    poll();
    ASSERT_EQ(fake->transfers().size(), 1u);
    EXPECT_EQ(fake->transfers()[0].size, 8u);
    EXPECT_EQ(signals(), 1u);
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(kept), kDone);
    EXPECT_FALSE(last_error(*context));
}

TEST_F(Withdrawal, keeps_the_signals_of_dropped_data) {
    fake->refuse_transfers(FakeEndpoint::kForEver);
    void* request = nullptr;
    ASSERT_EQ(iput_signal(caller(), 0, 0, memory, 10, 0, memory, kHigh, 8, other, 1, 1, true, 0, &request), ncclSuccess);
    withdraw();
    poll();
    EXPECT_TRUE(fake->transfers().empty());
    ASSERT_EQ(signals(), 1u);
    EXPECT_EQ(said(kHigh, MessageKind::rma_signal)[0].header.word, window(other).id());
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(static_cast<Request*>(request)), kDone);
}

TEST_F(Withdrawal, is_answered_behind_writes_under_way_without_waiting_for_them) {
    fake->hold_transfers(true);
    Request* request = put(kHigh, 10);
    withdraw();
    ASSERT_EQ(answers(), 1u) << "the answer takes the same ordered way";
    EXPECT_GT(place_of(kHigh, MessageKind::rma_window_closed), fake->transfers().at(0).place);
    fake->complete_transfers();
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(request), kDone);
}

TEST_F(Withdrawal, waits_for_reads_under_way) {
    fake->hold_transfers(true);
    Request* request = get(kHigh, 10);
    withdraw();
    poll(5);
    EXPECT_EQ(answers(), 0u);
    fake->complete_transfers();
    poll();
    EXPECT_EQ(answers(), 1u);
    EXPECT_EQ(ask(request), kDone) << "it came before the end";
}

TEST_F(Withdrawal, does_not_wait_for_reads_from_other_windows) {
    fake->hold_transfers(true);
    void* request = nullptr;
    ASSERT_EQ(iget(caller(), 0, 0, other, 8, 0, other, kHigh, 0, &request), ncclSuccess);
    ASSERT_NE(get(kLow, 8), nullptr) << "nor for those of other ranks";
    withdraw();
    EXPECT_EQ(answers(), 1u);
}

TEST_F(Withdrawal, fails_gets_that_have_not_left) {
    fake->refuse_transfers(FakeEndpoint::kForEver);
    Request* request = get(kHigh, 10);
    withdraw();
    EXPECT_EQ(ask(request), kLost);
    EXPECT_EQ(ask(request), kStale);
    EXPECT_EQ(answers(), 1u);
    EXPECT_TRUE(last_error(*context));
    fake->refuse_transfers(0);
    ASSERT_NE(put_elsewhere(0), nullptr);
    poll();
    ASSERT_EQ(fake->transfers().size(), 1u);
    EXPECT_FALSE(fake->transfers()[0].read);
}

TEST_F(Withdrawal, cuts_a_put_in_pieces_short) {
    fake->hold_transfers(true);
    Request* plain = put(kHigh, 200);
    withdraw();
    ASSERT_EQ(answers(), 1u);
    fake->complete_transfers();
    poll(3);
    EXPECT_EQ(fake->transfers().size(), 1u) << "nothing follows the answer";
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(plain), kDone);
}

TEST_F(Withdrawal, cuts_a_put_short_but_not_its_signal) {
    fake->hold_transfers(true);
    void* request = nullptr;
    ASSERT_EQ(iput_signal(caller(), 0, 0, memory, 200, 0, memory, kHigh, 8, other, 1, 1, true, 0, &request), ncclSuccess);
    withdraw();
    fake->complete_transfers();
    poll(3);
    EXPECT_EQ(fake->transfers().size(), 1u);
    EXPECT_EQ(signals(), 1u);
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(static_cast<Request*>(request)), kDone);
}

// Half of the bytes are not the bytes.
TEST_F(Withdrawal, fails_a_get_of_which_only_some_pieces_came) {
    fake->hold_transfers(true);
    Request* request = get(kHigh, 200);
    withdraw();
    EXPECT_EQ(answers(), 0u);
    fake->complete_transfers();
    poll(3);
    EXPECT_EQ(fake->transfers().size(), 1u);
    EXPECT_EQ(answers(), 1u);
    EXPECT_EQ(ask(request), kLost);
    ASSERT_NE(put_elsewhere(0), nullptr);
    poll();
    EXPECT_EQ(signals(), 1u) << "the lane goes on";
}

TEST_F(Withdrawal, ends_later_calls_before_they_start) {
    withdraw();
    Request* late = put(kHigh, 10);
    EXPECT_EQ(ask(late), kDone) << "dropped, as late traffic is";
    late = put_signal(kHigh, 10);
    poll();
    EXPECT_EQ(signals(), 1u) << "the target drops it, or has the word in another window";
    say(kHigh, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(late), kDone);
    EXPECT_EQ(ask(get(kHigh, 10)), kLost);
    EXPECT_TRUE(fake->transfers().empty());
    ASSERT_NE(put(kLow, 10), nullptr);
    EXPECT_EQ(fake->transfers().size(), 1u) << "the other rank has not withdrawn it";
}

TEST_F(Withdrawal, of_a_lost_rank_needs_no_answer) {
    fake->hold_transfers(true);
    ASSERT_NE(get(kHigh, 10), nullptr);
    withdraw();
    fake->complete_transfer(0, FI_EIO);
    poll(3);
    EXPECT_EQ(answers(), 0u);
    EXPECT_EQ(log.with("peer lost").size(), 1u);
}

}  // namespace
}  // namespace duofi::rma::unit
