// The bytes that a demo or benchmark message carries: every byte depends on who sent it, its size,
// the iteration and its offset, so that lost, swapped, stale and shifted data all show. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace duofi::tool {

struct PatternKey {
    std::uint64_t rank = 0;
    std::uint64_t bytes = 0;
    std::uint64_t iteration = 0;
};

void fill_pattern(std::span<std::byte> data, const PatternKey& key);

/// Number of bytes of `data` that differ from what fill_pattern would have written.
[[nodiscard]] std::uint64_t count_wrong(std::span<const std::byte> data, const PatternKey& key);

}  // namespace duofi::tool
