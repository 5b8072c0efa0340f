// Monotonic time in nanoseconds (vDSO, no system call) and deadlines.
#pragma once

#include <ctime>
#include <cstdint>

namespace duofi {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kMicrosecond = 1'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

[[nodiscard]] inline Nanoseconds now_ns() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<Nanoseconds>(t.tv_sec) * kSecond + t.tv_nsec;
}

/// A point in time after which a wait gives up.
class Deadline {
  public:
    explicit Deadline(Nanoseconds from_now) noexcept : at_(now_ns() + from_now) {}
    [[nodiscard]] bool passed() const noexcept { return now_ns() >= at_; }
    [[nodiscard]] Nanoseconds remaining() const noexcept {
        const Nanoseconds left = at_ - now_ns();
        return left > 0 ? left : 0;
    }

  private:
    Nanoseconds at_;
};

}  // namespace duofi
