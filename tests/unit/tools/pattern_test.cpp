#include "tools/duofi/pattern.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace duofi::tool {
namespace {

std::vector<std::byte> filled(std::size_t bytes, const PatternKey& key) {
    std::vector<std::byte> data(bytes);
    fill_pattern(data, key);
    return data;
}

TEST(Pattern, accepts_what_it_wrote_at_every_small_size) {
    for (std::size_t bytes = 0; bytes < 40; ++bytes) {
        const PatternKey key{3, bytes, 7};
        EXPECT_EQ(count_wrong(filled(bytes, key), key), 0u) << bytes;
    }
}

TEST(Pattern, counts_each_damaged_byte) {
    const PatternKey key{0, 1001, 5};
    for (std::size_t at = 0; at < 1001; at += 50) {
        std::vector<std::byte> data = filled(1001, key);
        data[at] ^= std::byte{0x10};
        EXPECT_EQ(count_wrong(data, key), 1u) << at;
        data[1000 - at / 2] ^= std::byte{0x01};
        EXPECT_EQ(count_wrong(data, key), 2u) << at;
    }
}

TEST(Pattern, depends_on_rank_size_and_iteration) {
    const std::vector<std::byte> data = filled(4096, {1, 4096, 9});
    for (const PatternKey& other : std::array<PatternKey, 5>{
             {{0, 4096, 9}, {2, 4096, 9}, {1, 4097, 9}, {1, 4096, 8}, {1, 4096, 10}}})
        EXPECT_GT(count_wrong(data, other), 4000u);
}

TEST(Pattern, notices_data_shifted_by_any_small_distance) {
    const PatternKey key{1, 512, 1};
    const std::vector<std::byte> data = filled(512, key);
    for (std::size_t shift = 1; shift <= 64; ++shift) {
        std::vector<std::byte> moved(data.begin() + static_cast<std::ptrdiff_t>(shift), data.end());
        moved.resize(512);
        EXPECT_GT(count_wrong(moved, key), 400u) << shift;
    }
}

TEST(Pattern, notices_memory_that_was_never_written) {
    EXPECT_GT(count_wrong(std::vector<std::byte>(512), {0, 512, 0}), 500u);
}

}  // namespace
}  // namespace duofi::tool
