#include "tests/support/memory_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace duofi::test {
namespace {

// One round of a 64-bit mixer: neighbouring words differ in about half of their bits.
std::uint64_t pattern_word(std::uint64_t seed, std::size_t word) {
    std::uint64_t x = seed * 0x9E3779B97F4A7C15ULL + word + 1;
    x ^= x >> 31;
    x *= 0xD6E8FEB86659FD93ULL;
    return x ^ (x >> 29);
}

bool all_poison(const std::uint8_t* from, std::size_t count) {
    return std::all_of(from, from + count,
                       [](std::uint8_t b) { return b == MemoryBuffer::kPoison; });
}

}  // namespace

std::uint8_t pattern_byte(std::uint64_t seed, std::size_t index) {
    return static_cast<std::uint8_t>(pattern_word(seed, index / 8) >> (8 * (index % 8)));
}

void fill_pattern(void* data, std::size_t bytes, std::uint64_t seed) {
    auto* out = static_cast<std::uint8_t*>(data);
    std::size_t at = 0;
    for (; at + 8 <= bytes; at += 8) {  // copies of a known size are single instructions
        const std::uint64_t word = pattern_word(seed, at / 8);
        std::memcpy(out + at, &word, 8);
    }
    for (; at < bytes; ++at) out[at] = pattern_byte(seed, at);
}

std::optional<std::size_t> first_mismatch(const void* data, std::size_t bytes, std::uint64_t seed) {
    const auto* in = static_cast<const std::uint8_t*>(data);
    std::size_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, in + at, 8);
        if (word != pattern_word(seed, at / 8)) break;
    }
    for (; at < bytes; ++at)
        if (in[at] != pattern_byte(seed, at)) return at;
    return std::nullopt;
}

MemoryBuffer::MemoryBuffer(std::size_t bytes, std::size_t offset)
    : size_(bytes), start_(kGuard + offset), bytes_(bytes + offset + 2 * kGuard, kPoison) {}

void MemoryBuffer::poison() {
    std::fill(bytes_.begin(), bytes_.end(), kPoison);
}

void MemoryBuffer::poison(std::size_t posted) {
    std::fill_n(data(), std::min(posted + kGuard, size_ + kGuard), kPoison);
}

bool MemoryBuffer::guards_intact(std::size_t used) const {
    return all_poison(bytes_.data(), start_) && all_poison(data() + used, kGuard) &&
           all_poison(data() + size_, kGuard);
}

bool MemoryBuffer::poisoned() const {
    return all_poison(bytes_.data(), bytes_.size());
}

}  // namespace duofi::test
