// Adding to a signal word (G-2, G-3, G-4, G-6).
#include "rma_plugin/signal/apply.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "common/util/clock.hpp"

namespace duofi::rma {
namespace {

class Apply : public ::testing::Test {
  protected:
    [[nodiscard]] std::byte* place(std::size_t index) { return reinterpret_cast<std::byte*>(words + index); }
    alignas(8) std::uint64_t words[3] = {7, 7, 7};
};

TEST_F(Apply, adds_to_the_one_word) {
    apply_signal(place(1), 5);
    EXPECT_EQ(words[0], 7u);
    EXPECT_EQ(words[1], 12u);
    EXPECT_EQ(words[2], 7u);
}

TEST_F(Apply, wraps_around_and_carries_into_no_neighbour) {
    words[1] = ~std::uint64_t{0};
    apply_signal(place(1), 1);
    EXPECT_EQ(words[1], 0u);
    apply_signal(place(1), std::uint64_t{1} << 63);
    apply_signal(place(1), std::uint64_t{1} << 63);
    EXPECT_EQ(words[1], 0u);
    EXPECT_EQ(words[0], 7u);
    EXPECT_EQ(words[2], 7u);
}

TEST_F(Apply, counts_every_add_of_every_thread) {
    constexpr std::uint64_t kAdds = 50000;
    words[1] = 0;
    std::vector<std::thread> adders;
    for (std::uint64_t thread = 1; thread <= 4; ++thread)
        adders.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < kAdds; ++i) apply_signal(place(1), thread);
        });
    for (std::thread& adder : adders) adder.join();
    EXPECT_EQ(words[1], kAdds * (1 + 2 + 3 + 4));
}

TEST_F(Apply, shows_the_data_to_a_reader_that_acquires) {
    std::uint64_t data = 0;
    words[0] = 0;
    bool in_time = false;
    std::thread reader([&] {
        const Deadline deadline(20 * kSecond);
        while (std::atomic_ref(words[0]).load(std::memory_order_acquire) == 0 && !deadline.passed())
            std::this_thread::yield();
        in_time = !deadline.passed();
        words[2] = data;
    });
    data = 4711;  // no atomic: a data race unless the add releases
    apply_signal(place(0), 1);
    reader.join();
    EXPECT_TRUE(in_time);
    EXPECT_EQ(words[2], 4711u);
}

TEST_F(Apply, wants_aligned_words) {
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(is_signal_word(place(0) + i), i % 8 == 0) << i;
}

}  // namespace
}  // namespace duofi::rma
