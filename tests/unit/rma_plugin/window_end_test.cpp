// Units: rma_plugin/window_table, rma_plugin/lane.
// deregMrSym asks the others to stay away, waits a moment for those that answer, and for nobody twice (X-7, M-13).
#include <mutex>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

constexpr Nanoseconds kGivesUpAfter = 300 * kMillisecond;

class WindowEnd : public ScriptedGroup {
  protected:
    void SetUp() override { join(); }
    [[nodiscard]] std::size_t asked(std::uint32_t rank) const {
        return said(rank, MessageKind::rma_window_close).size();
    }
    /// Only `rank` answers, everybody registers.
    void answer_only(std::optional<std::uint32_t> rank) {
        answer([=, this](std::uint32_t who, const SaidMessage& message) {
            std::vector<Bytes> packets;
            const WindowPart part = part_of(who, 64);
            if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window))
                packets.push_back(packet_of(who, MessageKind::rma_window, message.header.word, 0,
                                            std::as_bytes(std::span(&part, 1))));
            else if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window_close) && who == rank)
                packets.push_back(packet_of(who, MessageKind::rma_window_closed, message.header.word));
            return packets;
        });
    }
    Nanoseconds dereg(void* mhandle) {
        const Nanoseconds begin = now_ns();
        EXPECT_EQ(dereg_mr_sym(group->handle, mhandle), ncclSuccess);
        return now_ns() - begin;
    }
    alignas(8) std::byte place[8][64] = {};
};

TEST_F(WindowEnd, asks_every_rank_and_goes_on_when_all_have_answered) {
    const std::uint32_t id = window(memory).id();
    EXPECT_LT(dereg(memory), duofi::test::patience(kGivesUpAfter));
    for (const std::uint32_t rank : {kLow, kHigh}) {
        ASSERT_EQ(asked(rank), 1u);
        EXPECT_EQ(said(rank, MessageKind::rma_window_close)[0].header.word, id);
    }
    EXPECT_EQ(endpoint->domain().registrations(), 0u);
}

TEST_F(WindowEnd, closes_the_region_only_when_the_answers_are_there) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the look at the domain from inside the fake provider reads as a wrong order of locks";
#endif
    std::size_t open_when_answered = 0;
    answer([&](std::uint32_t who, const SaidMessage& message) {
        std::vector<Bytes> packets;
        if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window_close)) {
            open_when_answered += endpoint->domain().registrations();
            packets.push_back(packet_of(who, MessageKind::rma_window_closed, message.header.word));
        }
        return packets;
    });
    (void)dereg(memory);
    EXPECT_EQ(open_when_answered, 2u) << "open while either rank was asked";
}

TEST_F(WindowEnd, gives_up_on_a_silent_rank_and_does_not_ask_it_again) {
    answer_only(kLow);
    void* second = reg(place[0], 64);
    void* third = reg(place[1], 64);
    ASSERT_TRUE(second != nullptr && third != nullptr);
    EXPECT_GE(dereg(memory), kGivesUpAfter - 10 * kMillisecond);
    EXPECT_LT(dereg(second), duofi::test::patience(kGivesUpAfter));
    EXPECT_EQ(asked(kLow), 2u);
    EXPECT_EQ(asked(kHigh), 1u) << "stopped, or very busy";
    say(kHigh, MessageKind::rma_mark, 0, 1);  // it speaks again
    poll();
    EXPECT_GE(dereg(third), kGivesUpAfter - 10 * kMillisecond);
    EXPECT_EQ(asked(kHigh), 2u);
    EXPECT_EQ(endpoint->domain().registrations(), 0u);
}

TEST_F(WindowEnd, does_not_wait_for_a_rank_that_is_gone) {
    say(kHigh, MessageKind::rma_close);
    poll();
    answer_only(kLow);
    EXPECT_LT(dereg(memory), duofi::test::patience(kGivesUpAfter));
    EXPECT_EQ(asked(kHigh), 0u);
}

TEST_F(WindowEnd, does_not_wait_for_a_rank_that_goes_meanwhile) {
    answer([this](std::uint32_t who, const SaidMessage& message) {
        std::vector<Bytes> packets;
        if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window_close))
            packets.push_back(who == kHigh
                                  ? packet_of(who, MessageKind::rma_close)
                                  : packet_of(who, MessageKind::rma_window_closed, message.header.word));
        return packets;
    });
    EXPECT_LT(dereg(memory), duofi::test::patience(kGivesUpAfter));
    EXPECT_EQ(asked(kHigh), 1u);
}

TEST_F(WindowEnd, of_many_windows_at_once_waits_once) {
    answer_only({});
    for (auto& bytes_of_one : place) ASSERT_NE(reg(bytes_of_one, 64), nullptr);
    end_object(*group->handle);
    group->handle = nullptr;
    const Nanoseconds begin = now_ns();
    group.reset();
    EXPECT_GE(now_ns() - begin, kGivesUpAfter - 10 * kMillisecond);
    EXPECT_LT(now_ns() - begin, duofi::test::patience(2 * kGivesUpAfter)) << "one wait for all of them";
    EXPECT_EQ(asked(kLow), 9u);
    for (const std::uint32_t rank : {kLow, kHigh}) EXPECT_EQ(said(rank, MessageKind::rma_close).size(), 1u);
    EXPECT_EQ(endpoint->domain().registrations(), 0u);
}

TEST_F(WindowEnd, tells_the_others_to_stay_away_before_it_says_goodbye) {
    end_object(*group->handle);
    group->handle = nullptr;
    group.reset();
    for (const std::uint32_t rank : {kLow, kHigh})
        EXPECT_LT(place_of(rank, MessageKind::rma_window_close), place_of(rank, MessageKind::rma_close));
}

}  // namespace
}  // namespace duofi::rma::unit
