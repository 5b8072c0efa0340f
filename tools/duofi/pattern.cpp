#include "tools/duofi/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace duofi::tool {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ULL;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dULL;
    return x ^ (x >> 33);
}

std::uint64_t seed_of(const PatternKey& key) {
    return mix(mix(mix(key.rank + 1) + key.bytes) + key.iteration);
}

/// The eight bytes at word `index`; one multiplication, so that checking is cheap beside moving.
std::uint64_t word_at(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t x = (seed + index) * 0x9e3779b97f4a7c15ULL;
    return x ^ (x >> 32);
}

}  // namespace

void fill_pattern(std::span<std::byte> data, const PatternKey& key) {
    const std::uint64_t seed = seed_of(key);
    for (std::size_t at = 0; at < data.size(); at += kWord) {
        const std::uint64_t word = word_at(seed, at / kWord);
        std::memcpy(data.data() + at, &word, std::min(kWord, data.size() - at));
    }
}

std::uint64_t count_wrong(std::span<const std::byte> data, const PatternKey& key) {
    const std::uint64_t seed = seed_of(key);
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < data.size(); at += kWord) {
        const std::size_t length = std::min(kWord, data.size() - at);
        const std::uint64_t word = word_at(seed, at / kWord);
        if (std::memcmp(data.data() + at, &word, length) == 0) continue;
        const auto* expected = reinterpret_cast<const std::byte*>(&word);
        for (std::size_t i = 0; i < length; ++i) wrong += data[at + i] != expected[i] ? 1 : 0;
    }
    return wrong;
}

}  // namespace duofi::tool
