// Copies by size class (p2p contract 4.6, 4.7): small ones with overlapping vector moves, ones that stay in the cache
// with the C library's routine, ones that do not with stores that go past the cache. Any thread. All of them are
// complete for a release store that follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace duofi::local {

/// Largest copy of the small class, bytes.
inline constexpr std::size_t kSmallCopy = 64;

namespace detail {
template <typename Word>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
}
struct Word16 {
    std::uint64_t half[2];
};
struct Word32 {
    std::uint64_t quarter[4];
};
}  // namespace detail

/// At most kSmallCopy bytes, without a call. The ranges may overlap.
inline void copy_small(void* to, const void* from, std::size_t bytes) noexcept {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    if (bytes > 32) return detail::copy_ends<detail::Word32>(target, source, bytes);
    if (bytes >= 16) return detail::copy_ends<detail::Word16>(target, source, bytes);
    if (bytes >= 8) return detail::copy_ends<std::uint64_t>(target, source, bytes);
    if (bytes >= 4) return detail::copy_ends<std::uint32_t>(target, source, bytes);
    if (bytes >= 2) return detail::copy_ends<std::uint16_t>(target, source, bytes);
    if (bytes == 1) *target = *source;
}

/// For data that somebody reads soon: the target stays in the cache. No overlap.
void copy_cached(void* to, const void* from, std::size_t bytes) noexcept;

/// The same for data that another CPU has written and will write over soon: lines come with the right to write, so that
/// the writer's next store need not ask two caches for them. `from` must be writable memory. No overlap.
void copy_handed_over(void* to, const void* from, std::size_t bytes) noexcept;

/// For targets larger than the cache: stores that do not fetch the target, followed by the fence that they need.
/// An ordinary copy under the thread sanitizer, which cannot see such stores. No overlap.
void copy_streaming(void* to, const void* from, std::size_t bytes) noexcept;

/// Messages of at least this many bytes are copied with copy_streaming: half of this CPU's share of the last-level
/// cache. Found once per process.
[[nodiscard]] std::size_t streaming_threshold() noexcept;

/// The same from the files below `cpu_root` ("/sys/devices/system/cpu"); 1 MiB when they say nothing.
[[nodiscard]] std::size_t find_streaming_threshold(const char* cpu_root) noexcept;

/// Copies `bytes` that are a part of a message of `message_bytes`, in the class of the message.
inline void copy(void* to, const void* from, std::size_t bytes, std::size_t message_bytes,
                 std::size_t threshold) noexcept {
    if (bytes <= kSmallCopy) return copy_small(to, from, bytes);
    if (message_bytes >= threshold) return copy_streaming(to, from, bytes);
    copy_cached(to, from, bytes);
}

/// A message of its own.
inline void copy(void* to, const void* from, std::size_t bytes) noexcept {
    copy(to, from, bytes, bytes, streaming_threshold());
}

}  // namespace duofi::local
