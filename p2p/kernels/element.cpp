#include "p2p/kernels/element.hpp"

#include <cstring>
#include <type_traits>

namespace duofi::p2p {
namespace {

template <typename T>
T load(const std::byte* at, std::size_t i) {
    T value;
    std::memcpy(&value, at + i * sizeof(T), sizeof(T));
    return value;
}

template <typename T, Reduction Op>
T apply(T a, T b) {
    if constexpr (Op == Reduction::max) {
        return a > b ? a : b;
    } else if constexpr (Op == Reduction::min) {
        return a < b ? a : b;
    } else if constexpr (std::is_integral_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
        return a + b;
    }
}

template <typename T, Reduction Op>
void combine(std::byte* out, const std::byte* a, const std::byte* b, std::size_t count) {
    // Blocks of a fixed length are what the compiler turns into vector instructions without asking
    // how the buffers lie.
    constexpr std::size_t kBlock = 256 / sizeof(T);
    std::size_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
        T left[kBlock], right[kBlock];
        std::memcpy(left, a + i * sizeof(T), sizeof left);
        std::memcpy(right, b + i * sizeof(T), sizeof right);
        for (std::size_t k = 0; k < kBlock; ++k) left[k] = apply<T, Op>(left[k], right[k]);
        std::memcpy(out + i * sizeof(T), left, sizeof left);
    }
    for (; i < count; ++i) {
        const T value = apply<T, Op>(load<T>(a, i), load<T>(b, i));
        std::memcpy(out + i * sizeof(T), &value, sizeof value);
    }
}

template <typename T>
Combine of_type(Reduction op) noexcept {
    switch (op) {
        case Reduction::max:
            return combine<T, Reduction::max>;
        case Reduction::min:
            return combine<T, Reduction::min>;
        default:
            return combine<T, Reduction::sum>;
    }
}

}  // namespace

Combine combine_function(DataType type, Reduction op) noexcept {
    switch (type) {
        case DataType::uint8:
            return of_type<std::uint8_t>(op);
        case DataType::int32:
            return of_type<std::int32_t>(op);
        case DataType::int64:
            return of_type<std::int64_t>(op);
        case DataType::float32:
            return of_type<float>(op);
        default:
            return of_type<double>(op);
    }
}

}  // namespace duofi::p2p
