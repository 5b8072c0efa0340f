// Units: rma_plugin/lane, rma_plugin/context, rma_plugin/put_get, rma_plugin/iput_signal, rma_plugin/test.
// When an operation is done, and what is asked and answered for it (E-1, E-2, E-4, P-4, R-2).
#include <cstring>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

class LaneCompletion : public ScriptedGroup {
  protected:
    [[nodiscard]] std::vector<std::uint64_t> values(std::uint32_t rank, MessageKind kind) const {
        std::vector<std::uint64_t> all;
        for (const SaidMessage& message : said(rank, kind)) all.push_back(message.header.value);
        return all;
    }
    [[nodiscard]] std::vector<std::uint64_t> marks() const { return values(kHigh, MessageKind::rma_mark); }
    [[nodiscard]] std::vector<std::uint64_t> answers() const { return values(kHigh, MessageKind::rma_applied); }
    void applied(std::uint64_t sequence) { say(kHigh, MessageKind::rma_applied, 0, sequence); }
    using Numbers = std::vector<std::uint64_t>;
};

TEST_F(LaneCompletion, a_lone_put_is_marked_at_once) {
    join();
    Request* request = put(kHigh, 10);
    EXPECT_EQ(marks(), Numbers{1});
    EXPECT_GT(place_of(kHigh, MessageKind::rma_mark), fake->transfers().at(0).place);
    EXPECT_EQ(ask(request), kNotYet) << "nobody has said that it is there";
    applied(1);
    EXPECT_EQ(ask(request), kDone);
}

TEST_F(LaneCompletion, a_lone_put_is_confirmed_by_a_provider_that_can) {  // P17
    confirms_writes = true;
    join();
    fake->hold_transfers(true);
    Request* request = put(kHigh, 10);
    EXPECT_TRUE(fake->transfers().at(0).confirmed);
    EXPECT_EQ(ask(request), kNotYet);
    fake->complete_transfer(0);
    EXPECT_EQ(ask(request), kDone);
    EXPECT_EQ(marks(), Numbers{}) << "its completion says it all";
    ASSERT_NE(put(kHigh, 10), nullptr);
    Request* second = put(kHigh, 10);
    EXPECT_FALSE(fake->transfers().at(2).confirmed) << "several share a mark";
    EXPECT_EQ(marks(), Numbers{3});
    fake->complete_transfers();
    EXPECT_EQ(ask(second), kNotYet);
    applied(3);
    EXPECT_EQ(ask(second), kDone);
}

TEST_F(LaneCompletion, a_confirmed_put_fails_with_its_rank) {
    confirms_writes = true;
    join();
    fake->hold_transfers(true);
    Request* request = put(kHigh, 10);
    fake->complete_transfer(0, FI_EIO);
    EXPECT_EQ(ask(request), kLost);
}

TEST_F(LaneCompletion, a_put_with_a_signal_or_in_pieces_is_not_confirmed) {
    confirms_writes = true;
    settings.rma_segment = 64;
    join();
    ASSERT_NE(put_signal(kHigh, 10), nullptr);
    EXPECT_FALSE(fake->transfers().at(0).confirmed);
    applied(1);
    poll();
    ASSERT_NE(put(kHigh, 100), nullptr);
    poll(3);
    for (const auto& transfer : fake->transfers()) EXPECT_FALSE(transfer.confirmed);
    EXPECT_EQ(marks(), Numbers{2});
}

TEST_F(LaneCompletion, puts_behind_a_packet_in_flight_share_a_mark) {
    join();
    fake->hold_sends(true);
    for (int i = 0; i < 10; ++i) ASSERT_NE(put(kHigh, 10), nullptr);
    poll(5);
    EXPECT_LE(marks().size(), 2u);
    fake->hold_sends(false);
    fake->complete_sends();
    poll(2);
    EXPECT_LE(marks().size(), 2u) << "one for the first, one for the rest";
    EXPECT_EQ(marks().back(), 10u);
}

TEST_F(LaneCompletion, a_signal_serves_as_the_mark_of_the_puts_before_it) {
    join();
    fake->hold_sends(true);
    ASSERT_NE(put(kHigh, 10), nullptr);
    for (int i = 0; i < 3; ++i) ASSERT_NE(put(kHigh, 10), nullptr);
    ASSERT_NE(put_signal(kHigh, 10), nullptr);
    fake->hold_sends(false);
    fake->complete_sends();
    poll(3);
    EXPECT_EQ(marks(), Numbers{1});
    SignalBody body;
    std::memcpy(&body, said(kHigh, MessageKind::rma_signal).at(0).payload.data(), sizeof(body));
    EXPECT_EQ(body.sequence, 5u);
}

TEST_F(LaneCompletion, answers_are_cumulative) {
    join();
    std::vector<Request*> requests;
    for (int i = 0; i < 5; ++i) requests.push_back(put(kHigh, 10));
    poll();
    applied(3);
    poll();
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(ask(requests[i]), i < 3 ? kDone : kNotYet) << i;
    applied(2);  // an old word changes nothing
    EXPECT_EQ(ask(requests[3]), kNotYet);
    applied(5);
    EXPECT_EQ(ask(requests[4]), kDone) << "in any order (Q-6)";
    EXPECT_EQ(ask(requests[3]), kDone);
}

TEST_F(LaneCompletion, done_wants_both_the_provider_and_the_answer) {
    join();
    fake->hold_transfers(true);
    Request* answered_first = put(kHigh, 10);
    Request* moved_first = put_signal(kHigh, 10);
    applied(1);
    poll(3);
    EXPECT_EQ(ask(answered_first), kNotYet) << "the provider still reads the caller's memory";
    fake->complete_transfers();
    EXPECT_EQ(ask(answered_first), kDone);
    EXPECT_EQ(ask(moved_first), kNotYet);
    applied(2);
    EXPECT_EQ(ask(moved_first), kDone);
}

TEST_F(LaneCompletion, local_completion_asks_for_nothing) {
    settings.rma_completion = "local";
    join();
    fake->hold_transfers(true);
    Request* plain = put(kHigh, 10);
    Request* signalled = put_signal(kHigh, 10);
    EXPECT_EQ(ask(plain), kNotYet);
    fake->complete_transfers();
    EXPECT_EQ(ask(plain), kDone);
    EXPECT_EQ(ask(signalled), kDone);
    poll(3);
    EXPECT_TRUE(marks().empty());
    SignalBody body;
    std::memcpy(&body, said(kHigh, MessageKind::rma_signal).at(0).payload.data(), sizeof(body));
    EXPECT_EQ(body.answer, 0u);
}

TEST_F(LaneCompletion, a_get_is_done_when_its_read_is) {
    join();
    fake->hold_transfers(true);
    Request* request = get(kHigh, 100, 32);
    ASSERT_EQ(fake->transfers().size(), 1u);
    const auto read = fake->transfers()[0];
    EXPECT_TRUE(read.read);
    EXPECT_EQ(read.address, part_of(kHigh, 0).address + 32);
    EXPECT_EQ(read.key, part_of(kHigh, 0).key);
    EXPECT_EQ(read.data, bytes);
    EXPECT_EQ(read.size, 100u);
    EXPECT_EQ(ask(request), kNotYet);
    fake->complete_transfers();
    EXPECT_EQ(ask(request), kDone);
    EXPECT_TRUE(marks().empty());
    ASSERT_NE(put(kHigh, 10), nullptr);
    EXPECT_EQ(marks(), Numbers{1}) << "gets are no part of the order (R-3)";
}

TEST_F(LaneCompletion, a_get_in_pieces_is_done_with_the_last) {
    settings.rma_segment = 64;
    join();
    fake->hold_transfers(true);
    Request* request = get(kHigh, 150);
    for (const std::size_t size : {64, 64, 22}) {
        EXPECT_EQ(fake->transfers().back().size, size);
        EXPECT_EQ(ask(request), kNotYet);
        fake->complete_transfer(0);
        poll();
    }
    EXPECT_EQ(fake->transfers().size(), 3u);
    EXPECT_EQ(ask(request), kDone);
}

TEST_F(LaneCompletion, what_arrives_is_answered_once_for_all_of_a_poll) {
    join();
    say(kHigh, MessageKind::rma_mark, 0, 4);
    say(kHigh, MessageKind::rma_mark, 0, 9);
    say(kHigh, MessageKind::rma_mark, 0, 5);
    poll();
    EXPECT_EQ(answers(), Numbers{9}) << "never back";
    say(kHigh, MessageKind::rma_mark, 0, 8);  // nothing new
    poll(2);
    EXPECT_EQ(answers(), Numbers{9});
    EXPECT_TRUE(values(kLow, MessageKind::rma_applied).empty());
}

TEST_F(LaneCompletion, a_signal_is_added_and_answered_if_asked) {
    join();
    std::uint64_t word = ~std::uint64_t{0} - 1;
    std::memcpy(bytes + 24, &word, sizeof(word));
    say_signal(kHigh, window(memory), 24, {5, 1, 0, 1});
    say_signal(kLow, window(memory), 24, {1, 1, 0, 0});
    poll(2);
    std::memcpy(&word, bytes + 24, sizeof(word));
    EXPECT_EQ(word, 4u) << "both counted, wrapping around (G-2, G-4)";
    EXPECT_EQ(answers(), Numbers{1});
    EXPECT_TRUE(values(kLow, MessageKind::rma_applied).empty()) << "it did not ask";
    for (std::size_t i = 0; i < kBytes; ++i)
        if (i < 24 || i >= 32) {
            ASSERT_EQ(bytes[i], std::byte{0}) << i;
        }
}

TEST_F(LaneCompletion, an_answer_travels_with_what_is_said_anyway) {
    join();
    fake->hold_sends(true);
    ASSERT_NE(put(kHigh, 10), nullptr);  // its mark is in flight
    say(kHigh, MessageKind::rma_mark, 0, 2);
    poll();
    ASSERT_NE(put(kHigh, 10), nullptr);
    fake->hold_sends(false);
    fake->complete_sends();
    const std::size_t before = fake->sent_count();
    poll(2);
    EXPECT_EQ(marks().back(), 2u);
    EXPECT_EQ(answers(), Numbers{2});
    EXPECT_LE(fake->sent_count(), before + 1) << "one packet holds both";
}

TEST_F(LaneCompletion, test_writes_done_each_time_and_ends_the_request) {
    join();
    Request* request = put(kHigh, 10);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(request), kNotYet);
    applied(1);
    EXPECT_EQ(ask(request), kDone);
    EXPECT_EQ(ask(request), kStale);
    EXPECT_EQ(ask(nullptr), kDone) << "E-5";
    int done = 5;
    EXPECT_EQ(duofi::rma::test(nullptr, request, &done), ncclInvalidArgument);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(duofi::rma::test(group->handle, request, nullptr), ncclInvalidArgument);
}

TEST_F(LaneCompletion, progress_alone_moves_things_on_but_ends_nothing) {
    join();
    fake->refuse_transfers(2);
    Request* request = put(kHigh, 10);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(rma_progress(caller()), ncclSuccess);
    applied(1);
    EXPECT_EQ(rma_progress(caller()), ncclSuccess);
    EXPECT_FALSE(request->pending());
    EXPECT_EQ(ask(request), kDone);
    EXPECT_EQ(rma_progress(group->handle), ncclInvalidArgument) << "not a context";
    bool failed = true;
    EXPECT_EQ(query_last_error(nullptr, &failed), ncclInvalidArgument);
    EXPECT_FALSE(failed);
    EXPECT_EQ(query_last_error(caller(), nullptr), ncclInvalidArgument);
    EXPECT_FALSE(last_error(*context));
}

TEST_F(LaneCompletion, a_flush_gives_a_request_that_is_done) {
    join();
    void* request = nullptr;
    ASSERT_EQ(iflush(caller(), 0, memory, kHigh, &request), ncclSuccess);
    ASSERT_NE(request, nullptr) << "F-2";
    EXPECT_EQ(ask(static_cast<Request*>(request)), kDone);
    EXPECT_EQ(iflush(caller(), 0, nullptr, kHigh, &request), ncclInvalidArgument);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(iflush(caller(), 0, memory, kHigh, nullptr), ncclInvalidArgument);
}

}  // namespace
}  // namespace duofi::rma::unit
