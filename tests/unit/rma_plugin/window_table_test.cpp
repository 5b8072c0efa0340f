// Units: rma_plugin/window_table, rma_plugin/entry.
// The collective registration: what is said, what is judged, what is shared (M-1, M-4, M-5, M-11, M-14, M-15).
#include <cstring>
#include <thread>

#include "tests/unit/rma_plugin/scripted_group.hpp"

namespace duofi::rma::unit {
namespace {

class Windows : public ScriptedGroup {
  protected:
    void SetUp() override {
        settings.connect_timeout_s = 0.3;
        join();
    }
    using Adjust = std::function<void(std::uint32_t rank, WindowPart& part)>;
    /// Whoever hears of a registration takes part, with a part that the test may change. No part: `silent`.
    void answer_with(const Adjust& adjust, std::optional<std::uint32_t> silent = {}) {
        answer([=, this](std::uint32_t rank, const SaidMessage& message) {
            if (message.header.kind != static_cast<std::uint16_t>(MessageKind::rma_window) || rank == silent)
                return std::vector<Bytes>{};
            WindowPart part = part_read(message);
            const WindowPart theirs = part_of(rank, part.length);
            part.address = theirs.address;
            part.key = theirs.key;
            part.status = 0;
            adjust(rank, part);
            return std::vector<Bytes>{part_packet(rank, message.header.word, part)};
        });
    }
    [[nodiscard]] static WindowPart part_read(const SaidMessage& message) {
        WindowPart part;
        std::memcpy(&part, message.payload.data(), sizeof(part));
        return part;
    }
    [[nodiscard]] Bytes part_packet(std::uint32_t rank, std::uint32_t id, const WindowPart& part) const {
        return packet_of(rank, MessageKind::rma_window, id, 0, std::as_bytes(std::span(&part, 1)));
    }
    /// What we said about the registrations so far, to one rank.
    [[nodiscard]] std::vector<SaidMessage> told(std::uint32_t rank = kLow) const {
        return said(rank, MessageKind::rma_window);
    }
    void expect_refused(ncclResult_t expected, void* data, std::size_t size, int type = NCCL_PTR_HOST) {
        void* mhandle = this;
        EXPECT_EQ(reg_mr_sym(group->handle, data, size, type, 0, &mhandle), expected);
        EXPECT_EQ(mhandle, nullptr);
    }
    /// The next registration works, and no memory of ours is left behind by the ones before (M-15).
    void expect_next_works(std::size_t registered = 1) {
        answer_registrations();
        EXPECT_EQ(endpoint->domain().registrations(), registered) << "nothing half-registered";
        alignas(8) static std::byte place[256];
        void* mhandle = reg(place, sizeof(place));
        ASSERT_NE(mhandle, nullptr) << log.dump();
        EXPECT_EQ(dereg_mr_sym(group->handle, mhandle), ncclSuccess);
    }
    alignas(4096) std::byte more[8192] = {};
};

TEST_F(Windows, tell_the_others_what_they_need) {
    fake->forget_sent();
    void* mhandle = reg(more + 3, 1000, 5);
    ASSERT_NE(mhandle, nullptr);
    EXPECT_LT(reinterpret_cast<std::uintptr_t>(mhandle), std::uintptr_t{1} << 63) << "M-4";
    for (const std::uint32_t rank : {kLow, kHigh}) {
        ASSERT_EQ(told(rank).size(), 1u);
        EXPECT_EQ(told(rank)[0].header.word, window(memory).id() + 1) << "numbered by the order of the calls (M-1)";
        const WindowPart part = part_read(told(rank)[0]);
        EXPECT_EQ(part.length, 1000u);
        EXPECT_EQ(part.flags, 5u);
        EXPECT_EQ(part.status, 0);
        EXPECT_EQ(part.type, NCCL_PTR_HOST);
        EXPECT_EQ(part.misalignment, 3u);
        EXPECT_EQ(part.covered_by, 0u);
        EXPECT_NE(part.key, 0u);
    }
    EXPECT_EQ(window(mhandle).part(kHigh).key, 702u);
    EXPECT_EQ(window(mhandle).part(kLow).key, 700u);
}

TEST_F(Windows, name_bytes_by_offset_unless_the_provider_wants_addresses) {
    // The region may begin before the caller's bytes: offset 0 is theirs.
    void* mhandle = reg(more + 100, 8);
    ASSERT_NE(mhandle, nullptr);
    EXPECT_LT(window(mhandle).part(kOwn).address, 4096u);
}

TEST_F(Windows, need_the_part_of_every_rank) {
    answer_with([](std::uint32_t, WindowPart&) {}, kHigh);
    const Nanoseconds begin = now_ns();
    expect_refused(ncclRemoteError, more, 100);
    EXPECT_GE(now_ns() - begin, 150 * kMillisecond);
    EXPECT_LT(now_ns() - begin, duofi::test::patience(2 * kSecond));
    EXPECT_EQ(log.with("1 of 3 ranks did not take part").size(), 1u) << log.dump();
    for (const std::uint32_t rank : {kLow, kHigh}) {
        ASSERT_EQ(told(rank).size(), 3u) << "one for `memory`, one, and that it failed";
        EXPECT_EQ(part_read(told(rank)[1]).status, 0);
        EXPECT_EQ(part_read(told(rank)[2]).status, static_cast<std::int32_t>(Errc::timed_out));
        EXPECT_EQ(told(rank)[2].header.word, told(rank)[1].header.word);
    }
    expect_next_works();
}

TEST_F(Windows, take_parts_that_come_before_the_call) {
    const std::uint32_t next = window(memory).id() + 1;
    fake->answer_sends({});
    for (const std::uint32_t rank : {kLow, kHigh})
        for (const std::uint32_t id : {next, next + 1})  // the others are two calls ahead
            fake->deliver(part_packet(rank, id, part_of(rank, 10 * id)));
    poll(3);
    void* first = reg(more, 100);
    ASSERT_NE(first, nullptr) << log.dump();
    EXPECT_EQ(window(first).part(kHigh).length, 10 * next);
    void* second = reg(more + 4096, 100);
    ASSERT_NE(second, nullptr) << log.dump();
    EXPECT_EQ(window(second).part(kLow).length, 10 * (next + 1));
}

TEST_F(Windows, fail_on_all_ranks_if_one_cannot_register) {
    answer_with([](std::uint32_t rank, WindowPart& part) {
        if (rank == kHigh) part.status = static_cast<std::int32_t>(Errc::no_memory);
    });
    expect_refused(ncclSystemError, more, 100);
    EXPECT_EQ(log.with("rank 2 could not register its part").size(), 1u) << log.dump();
    expect_next_works();
}

TEST_F(Windows, believe_a_rank_that_changes_its_mind) {
    const std::uint32_t next = window(memory).id() + 1;
    WindowPart failed = part_of(kHigh, 100);
    fake->deliver(part_packet(kHigh, next, failed));
    failed.status = static_cast<std::int32_t>(Errc::timed_out);
    fake->deliver(part_packet(kHigh, next, failed));
    poll();
    answer_with([](std::uint32_t, WindowPart&) {}, kHigh);
    expect_refused(ncclRemoteError, more, 100);
    expect_next_works();
}

TEST_F(Windows, count_a_rank_that_tells_twice_once) {
    const std::uint32_t next = window(memory).id() + 1;
    for (int i = 0; i < 2; ++i) fake->deliver(part_packet(kHigh, next, part_of(kHigh, 100)));
    poll();
    fake->answer_sends({});
    expect_refused(ncclRemoteError, more, 100);
    EXPECT_EQ(log.with("1 of 3 ranks did not take part").size(), 1u) << log.dump();
    expect_next_works();
}

TEST_F(Windows, keep_a_shared_one_until_the_others_have_spoken) {
    settings.connect_timeout_s = 60;
    answer([this](std::uint32_t rank, const SaidMessage& message) {
        std::vector<Bytes> packets;
        if (message.header.kind == static_cast<std::uint16_t>(MessageKind::rma_window_close))
            packets.push_back(packet_of(rank, MessageKind::rma_window_closed, message.header.word));
        return packets;
    });
    const std::uint32_t id = window(memory).id();
    void* shared = nullptr;
    std::thread again([&] { shared = reg(bytes, kBytes); });
    // It waits for the others; meanwhile another thread gives back what it is about to share (T-2).
    const Deadline deadline(duofi::test::patience(20 * kSecond));
    while (told(kLow).size() < 2 && !deadline.passed()) std::this_thread::yield();
    EXPECT_EQ(dereg_mr_sym(group->handle, memory), ncclSuccess);
    for (const std::uint32_t rank : {kLow, kHigh}) {
        WindowPart part = part_of(rank, kBytes);
        part.covered_by = id;
        fake->deliver(part_packet(rank, id + 1, part));
    }
    again.join();
    ASSERT_NE(shared, nullptr) << log.dump();
    EXPECT_EQ(endpoint->domain().registrations(), 1u);
    void* request = nullptr;
    EXPECT_EQ(iput(caller(), 0, 0, shared, 8, 0, shared, kHigh, 0, &request), ncclSuccess);
}

TEST_F(Windows, tell_the_others_when_our_own_part_fails) {
    fabric.fail_next("fi_mr_regattr", -FI_ENOMEM);
    expect_refused(ncclSystemError, more, 100);
    EXPECT_NE(part_read(told().back()).status, 0);
    expect_next_works();
}

TEST_F(Windows, refuse_what_is_no_range_of_memory) {
    expect_refused(ncclInvalidArgument, more, 0);
    EXPECT_NE(part_read(told().back()).status, 0) << "all ranks fail alike (M-14)";
    expect_refused(ncclInvalidArgument, nullptr, 100);
    expect_refused(ncclInvalidArgument, more, SIZE_MAX);
    EXPECT_EQ(log.with("is not a range of memory").size(), 3u) << log.dump();
    expect_next_works();
}

TEST_F(Windows, refuse_other_kinds_of_memory) {
    expect_refused(ncclInvalidUsage, more, 100, NCCL_PTR_CUDA);
    expect_refused(ncclInvalidArgument, more, 100, 0);
    expect_refused(ncclInvalidArgument, more, 100, 77);
    EXPECT_EQ(log.with("accepted: 1 = host memory").size(), 3u) << log.dump();
    expect_next_works();
    void* mhandle = this;
    EXPECT_EQ(reg_mr_sym_dmabuf(group->handle, more, 100, NCCL_PTR_HOST, 0, 0, 0, &mhandle), ncclInvalidUsage);
    EXPECT_EQ(mhandle, nullptr) << "M-7";
}

TEST_F(Windows, check_their_arguments) {
    void* mhandle = this;
    EXPECT_EQ(reg_mr_sym(nullptr, more, 8, NCCL_PTR_HOST, 0, &mhandle), ncclInvalidArgument);
    EXPECT_EQ(mhandle, nullptr);
    EXPECT_EQ(reg_mr_sym(group->handle, more, 8, NCCL_PTR_HOST, 0, nullptr), ncclInvalidArgument);
    EXPECT_EQ(dereg_mr_sym(group->handle, nullptr), ncclSuccess) << "M-13";
    EXPECT_EQ(dereg_mr_sym(group->handle, context->handle), ncclInvalidArgument);
}

TEST_F(Windows, are_shared_when_all_ranks_register_the_same_once_more) {
    void* same = reg(bytes, kBytes);
    EXPECT_EQ(same, memory);
    EXPECT_EQ(reg(bytes, kBytes / 2), memory) << "a part from the same base (M-11)";
    EXPECT_EQ(endpoint->domain().registrations(), 1u);
    EXPECT_EQ(dereg_mr_sym(group->handle, memory), ncclSuccess);
    EXPECT_EQ(dereg_mr_sym(group->handle, memory), ncclSuccess);
    Request* request = put(kHigh, 10);
    EXPECT_NE(request, nullptr) << "one reference is left";
    EXPECT_EQ(dereg_mr_sym(group->handle, memory), ncclSuccess);
    EXPECT_EQ(dereg_mr_sym(group->handle, memory), ncclInvalidArgument) << "more often than registered";
    EXPECT_EQ(endpoint->domain().registrations(), 0u);
}

TEST_F(Windows, are_not_shared_unless_all_ranks_say_so) {
    answer_with([](std::uint32_t rank, WindowPart& part) {
        if (rank == kHigh) part.covered_by = 0;  // there it is other memory
    });
    void* other = reg(bytes, kBytes);
    ASSERT_NE(other, nullptr);
    EXPECT_NE(other, memory);
    EXPECT_EQ(dereg_mr_sym(group->handle, memory), ncclSuccess);
    ASSERT_TRUE(window(other).covers(kHigh, 0, kBytes));
    void* request = nullptr;
    EXPECT_EQ(iput(caller(), 0, 0, other, 8, 0, other, kHigh, 0, &request), ncclSuccess);
}

TEST_F(Windows, are_not_shared_with_other_flags_bases_or_a_larger_size) {
    EXPECT_NE(reg(bytes, kBytes, 1), memory);
    EXPECT_NE(reg(bytes + 8, 8), memory);
    void* small = reg(more, 100);
    void* large = reg(more, 101);
    EXPECT_NE(small, large);
    EXPECT_EQ(reg(more, 100), small);
}

TEST_F(Windows, of_a_group_that_lost_a_rank_fail_at_once) {
    settings.connect_timeout_s = 60;
    say(kHigh, MessageKind::rma_close);
    poll();
    answer_with([](std::uint32_t, WindowPart&) {}, kHigh);
    const Nanoseconds begin = now_ns();
    expect_refused(ncclRemoteError, more, 100);
    EXPECT_LT(now_ns() - begin, duofi::test::patience(5 * kSecond));
    EXPECT_EQ(endpoint->domain().registrations(), 1u);
}

}  // namespace
}  // namespace duofi::rma::unit
