#include "common/gin/random_pauses.hpp"

#include <sched.h>

#include <ctime>

namespace duofi::gin {
namespace {

constexpr Nanoseconds kLongestSleep = 200 * kMicrosecond;

/// The finalizer of SplitMix64.
std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

}  // namespace

RandomPauses::Choice RandomPauses::choice(std::uint64_t seed, std::uint64_t call) noexcept {
    const std::uint64_t random = mix(seed + (call + 1) * 0x9e3779b97f4a7c15u);
    if (random % 64 == 1)
        return {false, 1 + static_cast<Nanoseconds>((random >> 32) % kLongestSleep)};
    return {random % 8 == 0, 0};
}

void RandomPauses::pause() noexcept {
    const Choice chosen = choice(seed_, calls_.fetch_add(1, std::memory_order_relaxed));
    if (chosen.yields) ::sched_yield();
    if (chosen.sleep == 0) return;
    const timespec time{0, chosen.sleep};
    static_cast<void>(::nanosleep(&time, nullptr));
}

}  // namespace duofi::gin
