// LL: lines of 16 bytes, data and flag in one atomic word, so that no fence is needed for the data
// (p2p contract 4.4). Half of the bytes on the wire are payload.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "p2p/kernels/kernel.hpp"

namespace duofi::p2p {

inline constexpr std::size_t kLlLineBytes = 16;
inline constexpr std::size_t kLlLinePayload = 8;

/// Lines of a step. One without bytes still has one: a receiver that did not wait for it could run
/// ahead of its sender without bounds (p2p contract 4.8).
[[nodiscard]] constexpr std::size_t ll_lines(std::size_t bytes) noexcept {
    return bytes == 0 ? 1 : (bytes + kLlLinePayload - 1) / kLlLinePayload;
}

/// How flags follow from steps and when a slot is cleaned (C-42). Another rule than this one is for
/// tests, so that the wrap comes in milliseconds; both ends use the same.
struct LlRule {
    std::uint64_t flag_mask = 0xffffffff;
    std::uint64_t clean_mask = 0x7ffffff8;  ///< all bits set: the slot of that step is cleaned

    [[nodiscard]] std::uint64_t flag(std::uint64_t step) const noexcept {
        return (step + 1) & flag_mask;
    }
    [[nodiscard]] bool cleans(std::uint64_t step) const noexcept {
        return (step & clean_mask) == clean_mask;
    }
    /// The first step from `step` on at which a slot is cleaned.
    [[nodiscard]] std::uint64_t next_clean(std::uint64_t step) const noexcept {
        if (cleans(step)) return step;
        const std::uint64_t period = clean_mask + kWindow;
        return step / period * period + clean_mask;
    }

  private:
    static constexpr std::uint64_t kWindow = 8;  // one step per slot
};

/// Writes `bytes` of `own` into ll_lines(bytes) lines.
template <typename Memory>
void ll_write(std::uint64_t* lines, const void* own, std::size_t bytes, std::uint64_t flag) {
    const auto* from = static_cast<const std::byte*>(own);
    const std::uint64_t high = flag << 32;
    do {
        std::uint64_t data = 0;
        const std::size_t n = std::min(bytes, kLlLinePayload);
        if (n == kLlLinePayload)
            std::memcpy(&data, from, kLlLinePayload);
        else if (n > 0)
            std::memcpy(&data, from, n);
        Memory::store_relaxed(lines, high | (data & 0xffffffff));
        Memory::store_relaxed(lines + 1, high | (data >> 32));
        lines += 2;
        from += n;
        bytes -= n;
    } while (bytes > 0);
}

/// Makes `count` lines carry the flag of a step that has no data for them.
template <typename Memory>
void ll_fill(std::uint64_t* lines, std::size_t count, std::uint64_t flag) {
    for (std::size_t i = 0; i < 2 * count; ++i) Memory::store_relaxed(lines + i, flag << 32);
}

/// One look at the first line.
template <typename Memory>
[[nodiscard]] bool ll_arrived(std::uint64_t* lines, std::uint64_t flag) {
    return Memory::load_relaxed(lines) >> 32 == flag &&
           Memory::load_relaxed(lines + 1) >> 32 == flag;
}

/// Waits line by line and stores exactly `bytes` at `own`; the data are those of the words in which
/// the flags were seen.
template <typename Memory>
[[nodiscard]] KernelResult ll_read(std::uint64_t* lines, void* own, std::size_t bytes,
                                   std::uint64_t flag, Waiter& waiter) {
    auto* to = static_cast<std::byte*>(own);
    const auto flagged = [flag](std::uint64_t word) { return word >> 32 == flag; };
    do {
        std::uint64_t low = 0, high = 0;
        if (!Memory::await_relaxed(lines, waiter, low, flagged) ||
            !Memory::await_relaxed(lines + 1, waiter, high, flagged))
            return waiter.result();
        const std::uint64_t data = (low & 0xffffffff) | (high << 32);
        const std::size_t n = std::min(bytes, kLlLinePayload);
        if (n == kLlLinePayload)
            std::memcpy(to, &data, kLlLinePayload);
        else if (n > 0)
            std::memcpy(to, &data, n);
        lines += 2;
        to += n;
        bytes -= n;
    } while (bytes > 0);
    return KernelResult::ok;
}

}  // namespace duofi::p2p
