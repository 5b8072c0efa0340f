// Units: rma_plugin/lane, rma_plugin/group, rma_plugin/signal/apply.
// Ranks that are lost, leave or break the protocol (E-7, X-7).
#include <cstring>
#include <mutex>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

class LaneFailure : public ScriptedGroup {
  protected:
    [[nodiscard]] std::size_t losses() const { return log.with("peer lost").size(); }
    void expect_lost_once(const std::vector<Request*>& requests) {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            EXPECT_EQ(ask(requests[i]), kLost) << i;
            EXPECT_EQ(ask(requests[i]), kStale) << "told once: " << i;
        }
    }
    void expect_refused(std::uint32_t rank) {
        for (const auto& call : {std::function<Request*()>([&] { return put(rank, 10); }),
                                 std::function<Request*()>([&] { return put_signal(rank, 0); }),
                                 std::function<Request*()>([&] { return get(rank, 10); })}) {
            EXPECT_EQ(call(), nullptr);
            EXPECT_EQ(result, ncclRemoteError);
        }
    }
    void violate(const char* what, const std::function<void()>& say_it) {
        join();
        Request* waiting = put(kHigh, 10);
        say_it();
        poll();
        EXPECT_EQ(log.with(what).size(), 2u) << "named, and as the evidence: " << log.dump();
        EXPECT_EQ(losses(), 1u);
        expect_lost_once({waiting});
        expect_works(kLow);
    }
};

TEST_F(LaneFailure, an_error_of_one_write_fails_all_of_its_rank_once) {
    join();
    Context& other = group->add_context(1);
    fake->hold_transfers(true);
    std::vector<Request*> requests{put(kHigh, 10), put_signal(kHigh, 10), get(kHigh, 10)};
    Request* elsewhere = put(kLow, 10);
    fake->refuse_transfers(1);
    requests.push_back(put(kHigh, 10));  // has not left
    fake->complete_transfer(0, FI_EIO);
    poll(2);
    EXPECT_EQ(log.with("op=iput rank=2 size=10").size(), 1u) << log.dump();
    EXPECT_EQ(losses(), 1u);
    EXPECT_TRUE(last_error(*context));
    EXPECT_TRUE(last_error(other)) << "a rank of its group is lost";
    expect_lost_once(requests);
    expect_refused(kHigh);
    EXPECT_EQ(ask(elsewhere), kNotYet);
    fake->complete_transfers();  // of the lost rank too
    say(kLow, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(elsewhere), kDone);
    expect_works(kLow);
    EXPECT_EQ(losses(), 1u);
}

TEST_F(LaneFailure, requests_of_a_lost_rank_are_used_again_only_when_the_provider_lets_go) {
    join();
    fake->hold_transfers(true);
    Request* held = put(kHigh, 10);
    Request* first = put(kHigh, 10);
    fake->complete_transfer(1, FI_EIO);
    poll(2);
    expect_lost_once({held, first});
    std::vector<Request*> later;
    for (int i = 0; i < 100; ++i) {
        later.push_back(put(kLow, 0));
        ASSERT_NE(later.back(), held) << "the provider still writes to its operation";
    }
    for (Request* request : later) EXPECT_EQ(ask(request), kDone);
    fake->complete_transfers();
    poll();
    bool reused = false;
    for (int i = 0; i < 200; ++i) reused = put(kLow, 0) == held || reused;
    EXPECT_TRUE(reused);
}

TEST_F(LaneFailure, a_write_that_cannot_be_posted_loses_the_rank) {
    join();
    fake->refuse_transfers(1, -FI_ENOTCONN);
    Request* request = put(kHigh, 10);
    EXPECT_EQ(losses(), 1u);
    ASSERT_NE(request, nullptr);
    expect_lost_once({request});
    expect_works(kLow);
}

TEST_F(LaneFailure, a_packet_that_cannot_be_posted_loses_the_rank) {
    join();
    fake->refuse_sends(1, -FI_ENOTCONN);
    Request* request = put_signal(kHigh, 10);
    EXPECT_EQ(losses(), 1u);
    ASSERT_NE(request, nullptr);
    expect_lost_once({request});
    expect_works(kLow);
}

TEST_F(LaneFailure, evidence_of_the_endpoint_is_enough) {
    join();
    fake->hold_transfers(true);
    std::vector<Request*> requests{put(kHigh, 10), put_signal(kHigh, 10), get(kHigh, 10)};
    {
        const std::scoped_lock lock(endpoint->mutex());
        endpoint->lose_peer(*group->lane(kHigh)->peer(), "a test says so");
    }
    expect_lost_once(requests);
    EXPECT_TRUE(last_error(*context));
    expect_refused(kHigh);
    fake->complete_transfers();
    poll(2);
    expect_works(kLow);
}

TEST_F(LaneFailure, a_rank_that_leaves_fails_what_waits_for_it) {
    join();
    fake->hold_transfers(true);
    std::vector<Request*> requests{put(kHigh, 10), put_signal(kHigh, 10), get(kHigh, 10)};
    say(kHigh, MessageKind::rma_close);
    poll();
    expect_lost_once(requests);
    EXPECT_EQ(losses(), 0u) << "leaving is no loss";
    EXPECT_TRUE(last_error(*context));
    expect_refused(kHigh);
    expect_works(kLow);
}

TEST_F(LaneFailure, a_rank_that_leaves_when_nothing_waits_is_no_error) {
    join();
    say(kHigh, MessageKind::rma_close);
    fake->deliver(duofi::test::PacketText().add(MessageKind::goodbye, duofi::test::fake_name(number(kHigh))).bytes());
    poll(2);
    EXPECT_FALSE(last_error(*context)) << "nor is the end of its endpoint";
    for (const auto& line : log.all()) EXPECT_NE(line.level, duofi::log::Level::warn) << line.text;
}

TEST_F(LaneFailure, answers_of_a_rank_that_has_left_hit_nobody) {
    join();
    Request* failed = put(kHigh, 10);
    say(kHigh, MessageKind::rma_close);
    poll();
    expect_lost_once({failed});
    Request* next = put(kLow, 10);
    ASSERT_EQ(next, failed) << "the same place, for another rank";
    say(kHigh, MessageKind::rma_applied, 0, 9);
    poll();
    EXPECT_EQ(ask(next), kNotYet);
    say(kLow, MessageKind::rma_applied, 0, 1);
    EXPECT_EQ(ask(next), kDone);
}

TEST_F(LaneFailure, an_endpoint_that_closes_is_lost_for_its_group) {
    join();
    Request* request = put(kHigh, 10);
    fake->deliver(duofi::test::PacketText().add(MessageKind::goodbye, duofi::test::fake_name(number(kHigh))).bytes());
    poll();
    expect_lost_once({request});
    EXPECT_TRUE(last_error(*context));
}

TEST_F(LaneFailure, a_gap_in_the_signals_is_a_violation) {
    violate("a signal is missing", [&] { say_signal(kHigh, window(memory), 0, {1, 1, 1, 1}); });
    EXPECT_EQ(bytes[0], std::byte{0}) << "not added";
}

TEST_F(LaneFailure, a_signal_twice_is_a_violation) {
    violate("a signal is missing", [&] {
        say_signal(kHigh, window(memory), 0, {1, 1, 0, 0});
        say_signal(kHigh, window(memory), 0, {1, 1, 0, 0});
    });
    EXPECT_EQ(bytes[0], std::byte{1}) << "once";
}

TEST_F(LaneFailure, a_signal_outside_its_window_is_a_violation) {
    violate("signal outside its window", [&] { say_signal(kHigh, window(memory), kBytes - 4, {1, 1, 0, 0}); });
}

TEST_F(LaneFailure, a_signal_far_outside_its_window_is_a_violation) {
    violate("signal outside its window", [&] { say_signal(kHigh, window(memory), ~std::uint64_t{7}, {1, 1, 0, 0}); });
}

TEST_F(LaneFailure, a_misaligned_signal_is_a_violation) {
    violate("signal outside its window", [&] { say_signal(kHigh, window(memory), 4, {1, 1, 0, 0}); });
}

TEST_F(LaneFailure, a_signal_of_a_wrong_length_is_a_violation) {
    violate("signal of a wrong length",
            [&] { say(kHigh, MessageKind::rma_signal, window(memory).id(), 0, Bytes(sizeof(SignalBody) - 1)); });
}

TEST_F(LaneFailure, a_registration_of_a_wrong_length_is_a_violation) {
    violate("registration of a wrong length",
            [&] { say(kHigh, MessageKind::rma_window, 9, 0, Bytes(sizeof(WindowPart) + 8)); });
}

TEST_F(LaneFailure, words_of_nobody_and_for_nobody_are_dropped) {
    join();
    Request* request = put(kHigh, 10);
    for (const std::uint32_t rank : {kOwn, kRanks, 65535u}) {
        say(rank, MessageKind::rma_applied, 0, 1);
        say(rank, MessageKind::rma_close);
        say(rank, MessageKind::rma_signal);
    }
    say(kHigh, MessageKind::net_eager);
    say(kHigh, MessageKind::rma_window_closed, 77);
    say(kHigh, MessageKind::rma_window_close, 77);
    say(kHigh, MessageKind::refuse, 1);
    poll();
    EXPECT_EQ(ask(request), kNotYet);
    EXPECT_TRUE(log.with("RMA/OFI").empty()) << log.dump();
    expect_works(kHigh);
}

TEST_F(LaneFailure, a_late_signal_is_dropped_counted_and_answered) {
    join();
    alignas(8) std::byte gone[64] = {};
    void* mhandle = reg(gone, sizeof(gone));
    const std::uint32_t id = window(mhandle).id();
    ASSERT_EQ(dereg_mr_sym(group->handle, mhandle), ncclSuccess);
    const SignalBody late{1, 1, 0, 1};
    say(kHigh, MessageKind::rma_signal, id, 0, std::as_bytes(std::span(&late, 1)));
    say_signal(kHigh, window(memory), 0, {1, 2, 1, 1});
    poll();
    EXPECT_EQ(gone[0], std::byte{0});
    EXPECT_EQ(bytes[0], std::byte{1}) << "the next one counts";
    EXPECT_EQ(said(kHigh, MessageKind::rma_applied).back().header.value, 2u);
    EXPECT_EQ(losses(), 0u);
    end_object(*group->handle);
    group->handle = nullptr;
    group.reset();
    EXPECT_EQ(log.with("1 signals for deregistered windows").size(), 1u) << log.dump();
}

TEST_F(LaneFailure, an_operation_that_is_stuck_is_told_once) {
    settings.stall_seconds = 30;
    join();
    ASSERT_NE(put_signal(kHigh, 100), nullptr);
    const std::scoped_lock lock(endpoint->mutex());
    const Nanoseconds start = endpoint->tick_time();
    endpoint->tick(start + 29 * kSecond);
    EXPECT_TRUE(log.with("iputSignal").empty()) << log.dump();
    for (int i = 31; i < 40; ++i) endpoint->tick(start + i * kSecond);
    EXPECT_EQ(log.with("iputSignal").size(), 1u) << log.dump();
    EXPECT_EQ(log.with("iputSignal").front().level, duofi::log::Level::warn);
}

TEST_F(LaneFailure, a_get_that_is_stuck_is_told_too) {
    settings.stall_seconds = 30;
    join();
    ASSERT_NE(get(kHigh, 100), nullptr);
    const std::scoped_lock lock(endpoint->mutex());
    const Nanoseconds start = endpoint->tick_time();
    for (int i = 31; i < 40; ++i) endpoint->tick(start + i * kSecond);
    EXPECT_EQ(log.with("op=iget").size(), 1u) << log.dump();
}

}  // namespace
}  // namespace duofi::rma::unit
