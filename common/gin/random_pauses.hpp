// Yields and short sleeps in random places, so that orders come up which a quiet machine does not
// show (rma contract 4.7). Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/util/clock.hpp"

namespace duofi::gin {

/// About every eighth call gives the core away, about every 64th sleeps for at most 200 us.
class RandomPauses {
  public:
    struct Choice {
        bool yields = false;
        Nanoseconds sleep = 0;  ///< 0 = none
        bool operator==(const Choice&) const = default;
    };
    /// What call number `call` does; the same for the same seed.
    [[nodiscard]] static Choice choice(std::uint64_t seed, std::uint64_t call) noexcept;

    /// Seed 0: maybe() does nothing.
    explicit RandomPauses(std::uint64_t seed) noexcept : seed_(seed) {}
    void maybe() noexcept {
        if (seed_ != 0) pause();
    }
    [[nodiscard]] std::uint64_t calls() const noexcept {
        return calls_.load(std::memory_order_relaxed);
    }

  private:
    void pause() noexcept;

    std::uint64_t seed_;
    std::atomic<std::uint64_t> calls_{0};
};

}  // namespace duofi::gin
