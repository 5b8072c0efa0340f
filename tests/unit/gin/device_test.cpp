// What kernels do, between ranks that move real bytes (rma contract 4.3).
// Units: common/gin/device, common/gin/device_comm.
#include "common/gin/device.hpp"

#include "tests/unit/gin/crew.hpp"
#include "tests/unit/gin/solo.hpp"

namespace duofi::gin::test {
namespace {

using Kernel = Solo;

TEST_F(Kernel, large_puts_are_cut_and_only_the_last_piece_signals) {
    DeviceCommShape made = shape();
    made.device.chunk_bytes = 16;
    open(made);
    ASSERT_EQ(device().put(1, {window_, 100}, {window_, 8}, 40, Signal::inc(1), 0),
              GinStatus::done);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 3U);
    const std::size_t sizes[] = {16, 16, 8};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(calls[i].bytes, sizes[i]);
        EXPECT_EQ(calls[i].src_offset, 8 + 16 * i);
        EXPECT_EQ(calls[i].dst_offset, 100 + 16 * i);
        EXPECT_EQ(calls[i].kind, i == 2 ? CallKind::iput_signal : CallKind::iput);
    }
    proxy_->progress();
    EXPECT_EQ(device().read_counter(0), 1U);
}

TEST_F(Kernel, a_put_of_exactly_one_piece_is_not_cut) {
    DeviceCommShape made = shape();
    made.device.chunk_bytes = 16;
    open(made);
    ASSERT_EQ(device().put(1, {window_, 0}, {window_, 0}, 16), GinStatus::done);
    ASSERT_EQ(device().put(1, {window_, 0}, {window_, 0}, 17), GinStatus::done);
    proxy_->progress();
    EXPECT_EQ(fake_.calls().size(), 3U);
}

TEST_F(Kernel, gets_are_cut_too_and_nothing_is_posted_for_no_bytes) {
    DeviceCommShape made = shape();
    made.device.chunk_bytes = 16;
    open(made);
    ASSERT_EQ(device().get(1, {window_, 0}, {window_, 64}, 0), GinStatus::done);
    proxy_->progress();
    EXPECT_TRUE(fake_.calls().empty());
    ASSERT_EQ(device().get(1, {window_, 0}, {window_, 64}, 40), GinStatus::done);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[2].bytes, 8U);
    EXPECT_EQ(calls[2].src_offset, 32U);
    EXPECT_EQ(calls[2].dst_offset, 96U);
}

TEST_F(Kernel, zero_byte_puts_are_posted_and_signals_by_address_follow_them) {
    open(shape());
    ASSERT_EQ(device().put(1, {window_, 0}, {window_, 0}, 0), GinStatus::done);
    ASSERT_EQ(device().put(1, {window_, 0}, {window_, 0}, 8, Signal::inc_at(window_, 16)),
              GinStatus::done);
    ASSERT_EQ(device().signal(1, Signal::inc(0)), GinStatus::done);
    proxy_->progress();
    const auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 4U);
    EXPECT_EQ(calls[0].bytes, 0U);
    EXPECT_EQ(calls[1].kind, CallKind::iput);
    EXPECT_EQ(calls[2].kind, CallKind::iput_signal);
    EXPECT_EQ(calls[2].bytes, 0U);
    EXPECT_EQ(calls[2].signal, window_.handles[0]);
    EXPECT_EQ(calls[3].src, nullptr);
    EXPECT_EQ(calls[3].op, static_cast<std::uint32_t>(NCCL_NET_SIGNAL_OP_INC));
}

TEST_F(Kernel, flush_asks_for_gets_once_in_the_own_ring) {
    open(shape());
    proxy_->start();
    post_put(1);
    ASSERT_EQ(device().flush(1), GinStatus::done);
    EXPECT_EQ(fake_.calls().size(), 1U) << "nothing was read";
    ASSERT_EQ(device().get(2, {window_, 0}, {window_, 8}, 8), GinStatus::done);
    ASSERT_EQ(device().flush(2), GinStatus::done);
    auto calls = fake_.calls();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[2].kind, CallKind::iflush);
    EXPECT_EQ(calls[2].rank, 0U);
    ASSERT_EQ(device().flush(2), GinStatus::done);
    EXPECT_EQ(fake_.calls().size(), 3U) << "already visible";
}

TEST(Ranks, every_rank_gets_every_other_ranks_bytes) {
    constexpr int kRanks = 4;
    constexpr std::size_t kBytes = 1000;
    FakeRma fake;
    run_ranks(kRanks, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(), {}, 2 * kRanks * kBytes);
        ASSERT_TRUE(own.good());
        Device kernel = own.comm->device(0);
        const auto mine = static_cast<std::size_t>(exchange.rank);
        for (std::size_t to = 0; to < kRanks; ++to)
            for (std::size_t i = 0; i < kBytes; ++i)
                own.byte(to * kBytes + i) = static_cast<std::uint8_t>(mine * 37 + to * 11 + i);
        for (int peer = 0; peer < kRanks; ++peer) {
            const auto to = static_cast<std::size_t>(peer);
            ASSERT_EQ(kernel.put(peer, {own.window, (kRanks + mine) * kBytes},
                                 {own.window, to * kBytes}, kBytes, Signal::inc(0)),
                      GinStatus::done);
        }
        ASSERT_EQ(kernel.wait_signal(0, kRanks), GinStatus::done);
        for (std::size_t from = 0; from < kRanks; ++from)
            for (std::size_t i = 0; i < kBytes; ++i)
                ASSERT_EQ(own.byte((kRanks + from) * kBytes + i),
                          static_cast<std::uint8_t>(from * 37 + mine * 11 + i));
        ASSERT_EQ(kernel.barrier(), GinStatus::done);
        own.close();
    });
    EXPECT_EQ(fake.open_requests(), 0U);
}

TEST(Ranks, barriers_hold_everybody_back) {
    constexpr int kRanks = 3;
    constexpr int kRounds = 300;
    FakeRma fake;
    std::atomic<int> arrived{0};
    std::atomic<int> early{0};
    run_ranks(kRanks, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(2), {}, 64);
        ASSERT_TRUE(own.good());
        for (int round = 1; round <= kRounds; ++round) {
            Device kernel = own.comm->device(round % 2);
            ++arrived;
            ASSERT_EQ(kernel.barrier(round % 3 == 0), GinStatus::done);
            if (arrived.load() < round * kRanks) ++early;
        }
        own.close();
    });
    EXPECT_EQ(early.load(), 0);
}

TEST(Ranks, values_gets_resets_and_signals_by_address) {
    FakeRma fake;
    run_ranks(2, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(), {}, 256);
        ASSERT_TRUE(own.good());
        Device kernel = own.comm->device(0);
        const int peer = 1 - exchange.rank;
        own.byte(0) = static_cast<std::uint8_t>(10 + exchange.rank);
        ASSERT_EQ(kernel.barrier(), GinStatus::done);
        ASSERT_EQ(kernel.get(peer, {own.window, 0}, {own.window, 100}, 1), GinStatus::done);
        ASSERT_EQ(kernel.flush(peer), GinStatus::done);
        EXPECT_EQ(own.byte(100), 10 + peer);
        ASSERT_EQ(
            kernel.put_value<std::uint32_t>(peer, {own.window, 104}, 0xC0FFEE, Signal::plus(2, 7)),
            GinStatus::done);
        ASSERT_EQ(kernel.wait_signal(2, 7), GinStatus::done);
        std::uint32_t value = 0;
        std::memcpy(&value, &own.memory[104], sizeof value);
        EXPECT_EQ(value, 0xC0FFEEU);
        kernel.reset_signal(2);
        EXPECT_EQ(kernel.read_signal(2), 0U);
        ASSERT_EQ(kernel.barrier(), GinStatus::done);
        ASSERT_EQ(kernel.signal(peer, Signal::plus_at(own.window, 128, 5)), GinStatus::done);
        ASSERT_EQ(kernel.signal(peer, Signal::inc(2)), GinStatus::done);
        ASSERT_EQ(kernel.wait_signal(2, 1), GinStatus::done) << "counted from the reset on";
        EXPECT_EQ(own.byte(128), 5);
        own.close();
    });
}

TEST(Ranks, many_threads_of_a_kernel_share_one_context) {
    constexpr int kThreads = 4;
    constexpr std::uint64_t kEach = 500;
    FakeRma fake;
    run_ranks(2, [&](const Exchange& exchange) {
        Rank own(fake, exchange, crew_shape(), {}, 256);
        ASSERT_TRUE(own.good());
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i)
            threads.emplace_back([&] {
                Device kernel = own.comm->device(0);
                for (std::uint64_t n = 0; n < kEach; ++n)
                    ASSERT_EQ(kernel.signal(1 - exchange.rank, Signal::inc(1), 0), GinStatus::done);
            });
        for (std::thread& thread : threads) thread.join();
        Device kernel = own.comm->device(0);
        ASSERT_EQ(kernel.wait_counter(0, kThreads * kEach), GinStatus::done);
        ASSERT_EQ(kernel.wait_signal(1, kThreads * kEach), GinStatus::done);
        EXPECT_EQ(kernel.read_counter(0), kThreads * kEach);
        EXPECT_EQ(kernel.read_signal(1), kThreads * kEach);
        own.close();
    });
}

TEST(Status, has_words) {
    EXPECT_STREQ(to_string(GinStatus::timed_out), "timed out");
    EXPECT_STREQ(to_string(GinStatus::failed), "the proxy has failed");
}

}  // namespace
}  // namespace duofi::gin::test
