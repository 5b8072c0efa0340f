// Message memory of tests: a deterministic pattern in every byte and guard zones around the data.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace duofi::test {

/// Byte `index` of the message `seed`.
[[nodiscard]] std::uint8_t pattern_byte(std::uint64_t seed, std::size_t index);

void fill_pattern(void* data, std::size_t bytes, std::uint64_t seed);

/// Index of the first byte that differs from the pattern; nullopt when all are right.
[[nodiscard]] std::optional<std::size_t> first_mismatch(const void* data, std::size_t bytes,
                                                        std::uint64_t seed);

class MemoryBuffer {
  public:
    static constexpr std::size_t kGuard = 64;  ///< bytes before and after the data
    static constexpr std::uint8_t kPoison = 0xA5;

    /// `offset` moves the data off its natural alignment.
    explicit MemoryBuffer(std::size_t bytes, std::size_t offset = 0);

    [[nodiscard]] std::uint8_t* data() { return bytes_.data() + start_; }
    [[nodiscard]] const std::uint8_t* data() const { return bytes_.data() + start_; }
    [[nodiscard]] std::size_t size() const { return size_; }

    void fill(std::uint64_t seed) { fill_pattern(data(), size_, seed); }
    /// Everything, guards included, becomes kPoison.
    void poison();
    /// Poison for a receive of `posted` bytes: the data and the zone behind it.
    void poison(std::size_t posted);

    /// Both guards and the first bytes behind `used` still hold the poison.
    [[nodiscard]] bool guards_intact(std::size_t used) const;
    [[nodiscard]] bool guards_intact() const { return guards_intact(size_); }
    /// Nothing was written since poison().
    [[nodiscard]] bool poisoned() const;

  private:
    std::size_t size_;
    std::size_t start_;
    std::vector<std::uint8_t> bytes_;
};

}  // namespace duofi::test
