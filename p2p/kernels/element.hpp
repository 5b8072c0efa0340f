// Element types, reductions and the loops over them. Any thread; values only. Buffers need no
// alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace duofi::p2p {

enum class DataType : std::uint8_t { uint8, int32, int64, float32, float64 };
enum class Reduction : std::uint8_t { sum, max, min };

[[nodiscard]] constexpr std::size_t size_of(DataType type) noexcept {
    switch (type) {
        case DataType::uint8:
            return 1;
        case DataType::int32:
        case DataType::float32:
            return 4;
        default:
            return 8;
    }
}

/// out[i] = a[i] op b[i]. `out` may be `a` or `b`, but not overlap them otherwise. Sums of integers
/// wrap around; max and min of floating point take `b` where the comparison with a NaN fails.
using Combine = void (*)(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count);

[[nodiscard]] Combine combine_function(DataType type, Reduction op) noexcept;

}  // namespace duofi::p2p
