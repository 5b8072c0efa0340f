// CRC32C (Castagnoli), as handles and connect blobs carry it. Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace duofi::local {

namespace detail {
inline constexpr std::array<std::uint32_t, 256> kCrc32cTable = [] {
    constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78U;
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) != 0 ? kReflectedPolynomial : 0U);
        table[byte] = value;
    }
    return table;
}();
}  // namespace detail

/// Of "123456789" it is 0xe3069283. For set-up only: a byte at a time.
[[nodiscard]] constexpr std::uint32_t crc32c(std::span<const std::byte> data) noexcept {
    std::uint32_t value = ~0U;
    for (const std::byte byte : data)
        value = (value >> 8) ^ detail::kCrc32cTable[(value ^ static_cast<std::uint32_t>(byte)) & 0xffU];
    return ~value;
}

}  // namespace duofi::local
