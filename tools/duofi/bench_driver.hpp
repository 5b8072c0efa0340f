// What the benchmark measures and the interface of everything that can be measured that way.
// One thread per driver; rank 0 leads and takes the time, rank 1 follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/abi/host_types.h"
#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::tool {

enum class Shape : std::uint32_t {
    ping_pong,
    single,  ///< one operation after another, each from its call to its completion
    stream,
};

/// What a one-sided workload consists of.
enum class OneSided : std::uint32_t { put, put_signal, get };

struct Workload {
    Shape shape = Shape::ping_pong;
    std::uint32_t bytes = 8;
    std::uint32_t window = 1;      ///< messages in flight
    std::uint32_t iterations = 1;  ///< round trips, operations or messages
};

/// Distinct message buffers cover at most this much, so that memory is not what is measured.
inline constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
/// Behind the message buffers: the acknowledgement that ends a stream.
inline constexpr std::size_t kAckOffset = kBufferBytes;
inline constexpr std::size_t kAckBytes = 8;
inline constexpr std::size_t kBenchMemory = kBufferBytes + 4096;
inline constexpr unsigned kWidestWindow = 32;

/// Times that a measurement is to be divided by, beside its iterations.
[[nodiscard]] constexpr double parts_of(const Workload& work) noexcept {
    return work.shape == Shape::ping_pong ? 2 : 1;
}

/// Number of distinct buffers that a workload rotates over.
[[nodiscard]] constexpr std::uint32_t buffer_count(const Workload& work) noexcept {
    const auto fit = static_cast<std::uint32_t>(kBufferBytes / work.bytes);
    return fit < work.window ? fit : work.window;
}
[[nodiscard]] constexpr std::size_t buffer_offset(const Workload& work,
                                                  std::uint32_t iteration) noexcept {
    return std::size_t{iteration % buffer_count(work)} * work.bytes;
}

/// Memory that every driver of one process uses, so that all are measured with the same buffers.
struct BenchMemory {
    std::span<std::byte> tx, rx;  ///< kBenchMemory bytes each
};

/// How long the ends of a pair wait for each other, and for one operation.
inline constexpr Nanoseconds kStepLimit = 30 * kSecond;
inline constexpr Nanoseconds kWaitLimit = 20 * kSecond;

/// The error for a call into a plugin that failed; a negative errno is a result code (outcome.hpp).
[[nodiscard]] inline tl::unexpected<Error> call_failed(ncclResult_t result, const char* call) {
    return fail(result == ncclRemoteError ? Errc::remote : Errc::system, call, -static_cast<std::int32_t>(result));
}

/// A bound on a busy wait that costs no clock reading while things go well.
class SpinLimit {
  public:
    explicit SpinLimit(Nanoseconds limit) noexcept : limit_(limit) {}
    [[nodiscard]] bool passed() noexcept {
        if (++spins_ % 1024 != 0) return false;
        const Nanoseconds now = now_ns();
        if (first_ == 0) first_ = now;
        return now - first_ >= limit_;
    }

  private:
    Nanoseconds limit_, first_ = 0;
    unsigned spins_ = 0;
};

class Driver {
  public:
    virtual ~Driver() = default;
    /// Rank 1, before rank 0 starts: posts what must be posted to receive the first messages.
    [[nodiscard]] virtual Status prepare(const Workload& work) = 0;
    /// Rank 0: the whole workload up to the proof that rank 1 has received all of it.
    [[nodiscard]] virtual Status lead(const Workload& work) = 0;
    /// Rank 1: the other half.
    [[nodiscard]] virtual Status follow(const Workload& work) = 0;
    /// Moves what is still under way while nothing is measured.
    [[nodiscard]] virtual Status idle() = 0;
};

}  // namespace duofi::tool
