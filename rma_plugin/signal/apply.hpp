// Adding to a signal word. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace duofi::rma {

/// Adds to the 8-byte word at `word`, atomically and with release order (G-4, G-6); wraps around.
void apply_signal(std::byte* word, std::uint64_t addend) noexcept;

/// May a signal word begin there (G-3)?
[[nodiscard]] inline bool is_signal_word(const std::byte* word) noexcept {
    return reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) == 0;
}

}  // namespace duofi::rma
