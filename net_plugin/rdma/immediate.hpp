// The word beside a write: which receive of which comm it belongs to, and in how many writes its message comes. Pure values.
#pragma once

#include <cstdint>

namespace duofi::net {

/// From the top: parts - 1 (2 bits), sequence (14), the low 16 bits of the receiving comm's port.
struct Immediate {
    static constexpr std::uint32_t kSequences = 1u << 14;

    std::uint32_t port = 0;
    std::uint32_t sequence = 0;
    std::uint32_t parts = 1;  ///< 1 to 4

    [[nodiscard]] constexpr std::uint32_t word() const noexcept {
        return (parts - 1) << 30 | (sequence % kSequences) << 16 | (port & 0xffff);
    }
    [[nodiscard]] static constexpr Immediate from(std::uint32_t word) noexcept {
        return {word & 0xffff, word >> 16 & (kSequences - 1), (word >> 30) + 1};
    }
};

}  // namespace duofi::net
