// Exchange of small values between the ranks of one run, before any network of ours exists.
// One object per rank; calls of one object come from one thread at a time. Every wait has a
// deadline.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"

namespace duofi::bootstrap {

using Bytes = std::vector<std::byte>;

/// Longest key and longest value that a store accepts.
inline constexpr std::size_t kMaxKeyBytes = 256;
inline constexpr std::size_t kMaxValueBytes = std::size_t{1} << 20;

/// Errors of all waiting calls: Errc::timed_out when the deadline passed, Errc::remote when a rank
/// that this run needs is gone (the WARN line names it), Errc::system when the store itself is
/// unreachable, Errc::invalid_argument for keys or values over the limits.
class Store {
  public:
    virtual ~Store() = default;

    [[nodiscard]] virtual int rank() const noexcept = 0;
    [[nodiscard]] virtual int size() const noexcept = 0;

    /// Stores a value; a second set of the same key replaces it.
    [[nodiscard]] virtual Status set(std::string_view key, std::span<const std::byte> value,
                                     const Deadline& deadline) = 0;
    /// Waits until some rank has set the key.
    [[nodiscard]] virtual Result<Bytes> get(std::string_view key, const Deadline& deadline) = 0;
    /// Returns when all ranks have entered the barrier with this name; a name may be used again.
    [[nodiscard]] virtual Status barrier(std::string_view name, const Deadline& deadline) = 0;

    /// Every rank contributes one value; all get the values of all ranks, by rank. A name may be
    /// used again; ranks must call gathers of one name in the same order.
    [[nodiscard]] virtual Result<std::vector<Bytes>> gather(std::string_view name,
                                                            std::span<const std::byte> value,
                                                            const Deadline& deadline) = 0;
};

/// View of a trivially copyable value or of text, for set and gather.
[[nodiscard]] inline std::span<const std::byte> as_value(std::string_view text) noexcept {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string as_text(const Bytes& value) {
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

}  // namespace duofi::bootstrap
