// Reductions of every type over buffers at any address.
// Units: p2p/kernels/element
#include "p2p/kernels/element.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::DataType;
using p2p::Reduction;

template <typename T>
T value_at(const std::byte* at, std::size_t i) {
    T value;
    std::memcpy(&value, at + i * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
T plain(Reduction op, T a, T b) {
    if (op == Reduction::max) return a > b ? a : b;
    if (op == Reduction::min) return a < b ? a : b;
    return static_cast<T>(a + b);
}

template <typename T>
void check(DataType type) {
    ASSERT_EQ(p2p::size_of(type), sizeof(T));
    for (const Reduction op : {Reduction::sum, Reduction::max, Reduction::min}) {
        for (const std::size_t count : {0UL, 1UL, 31UL, 32UL, 33UL, 255UL, 256UL, 257UL, 1000UL}) {
            const std::size_t shift = count % 16;
            GuardedBuffer a(count * sizeof(T), shift), b(count * sizeof(T), (shift + 3) % 16),
                out(count * sizeof(T), 1);
            for (std::size_t i = 0; i < count; ++i) {
                const T x = static_cast<T>(i * 3 % 50), y = static_cast<T>(50 - i * 7 % 50);
                std::memcpy(a.data() + i * sizeof(T), &x, sizeof x);
                std::memcpy(b.data() + i * sizeof(T), &y, sizeof y);
            }
            const p2p::Combine combine = p2p::combine_function(type, op);
            combine(out.data(), a.data(), b.data(), count);
            for (std::size_t i = 0; i < count; ++i)
                ASSERT_EQ(value_at<T>(out.data(), i),
                          plain(op, value_at<T>(a.data(), i), value_at<T>(b.data(), i)));
            EXPECT_TRUE(out.guards_intact());
            combine(a.data(), a.data(), b.data(), count);  // in place
            EXPECT_EQ(std::memcmp(a.data(), out.data(), count * sizeof(T)), 0);
        }
    }
}

TEST(Element, ReductionsOfEveryTypeAndAddress) {
    check<std::uint8_t>(DataType::uint8);
    check<std::int32_t>(DataType::int32);
    check<std::int64_t>(DataType::int64);
    check<float>(DataType::float32);
    check<double>(DataType::float64);
}

TEST(Element, SumsOfIntegersWrapAround) {
    const std::int32_t a = std::numeric_limits<std::int32_t>::max(), b = 1;
    std::int32_t out = 0;
    const auto bytes = [](auto* p) {
        return reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(p));
    };
    p2p::combine_function(DataType::int32, Reduction::sum)(bytes(&out), bytes(&a), bytes(&b), 1);
    EXPECT_EQ(out, std::numeric_limits<std::int32_t>::min());
}

}  // namespace
}  // namespace duofi::test
