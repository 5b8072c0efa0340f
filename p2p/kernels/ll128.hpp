// LL128: lines of 128 bytes, fifteen words of data and one flag word (p2p contract 4.5). CPUs do
// not store 128 bytes at once, so the flag is stored with release behind the data and read with
// acquire in front of them. Never non-temporal stores here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "p2p/kernels/kernel.hpp"

namespace duofi::p2p {

inline constexpr std::size_t kLl128LineBytes = 128;
inline constexpr std::size_t kLl128LinePayload = 120;
inline constexpr std::size_t kLl128LineWords = kLl128LineBytes / 8;

/// One at least, as in LL.
[[nodiscard]] constexpr std::size_t ll128_lines(std::size_t bytes) noexcept {
    return bytes == 0 ? 1 : (bytes + kLl128LinePayload - 1) / kLl128LinePayload;
}
/// 64 bits: never repeats.
[[nodiscard]] constexpr std::uint64_t ll128_flag(std::uint64_t step) noexcept {
    return step + 1;
}

template <typename Memory>
void ll128_write(std::uint64_t* lines, const void* own, std::size_t bytes, std::uint64_t flag) {
    const auto* from = static_cast<const std::byte*>(own);
    do {
        const std::size_t n = std::min(bytes, kLl128LinePayload);
        if (n == kLl128LinePayload)
            Memory::write_data(lines, from, kLl128LinePayload);
        else if (n > 0)
            Memory::write_data(lines, from, n);
        Memory::store_release(lines + kLl128LineWords - 1, flag);
        lines += kLl128LineWords;
        from += n;
        bytes -= n;
    } while (bytes > 0);
}

/// One look at the first line.
template <typename Memory>
[[nodiscard]] bool ll128_arrived(std::uint64_t* lines, std::uint64_t flag) {
    return Memory::load_acquire(lines + kLl128LineWords - 1) == flag;
}

template <typename Memory>
[[nodiscard]] KernelResult ll128_read(std::uint64_t* lines, void* own, std::size_t bytes,
                                      std::uint64_t flag, Waiter& waiter) {
    auto* to = static_cast<std::byte*>(own);
    do {
        std::uint64_t value = 0;
        if (!Memory::await_acquire(lines + kLl128LineWords - 1, waiter, value,
                                   [flag](std::uint64_t word) { return word == flag; }))
            return waiter.result();
        const std::size_t n = std::min(bytes, kLl128LinePayload);
        if (n == kLl128LinePayload)
            Memory::read_data(to, lines, kLl128LinePayload);
        else if (n > 0)
            Memory::read_data(to, lines, n);
        lines += kLl128LineWords;
        to += n;
        bytes -= n;
    } while (bytes > 0);
    return KernelResult::ok;
}

}  // namespace duofi::p2p
