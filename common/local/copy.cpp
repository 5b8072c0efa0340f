#include "common/local/copy.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

#if defined(__SANITIZE_THREAD__)
#define DUOFI_ORDINARY_COPIES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DUOFI_ORDINARY_COPIES 1
#endif
#endif
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace duofi::local {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kUnknownThreshold = std::size_t{1} << 20;

#if defined(DUOFI_ORDINARY_COPIES)
constexpr bool kStreams = false;
void stream_lines(std::byte*, const std::byte*, std::size_t) noexcept {}
#elif defined(__SSE2__)
constexpr bool kStreams = true;
// `to` is at the start of a line. The fence makes the stores visible before any later store.
void stream_lines(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
    for (; lines != 0; --lines, to += kLine, from += kLine) {
        const auto* source = reinterpret_cast<const __m128i*>(from);
        auto* target = reinterpret_cast<__m128i*>(to);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
}
#elif defined(__aarch64__)
constexpr bool kStreams = true;
void stream_lines(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
    for (; lines != 0; --lines, to += kLine, from += kLine)
        asm volatile(
            "ldp q0, q1, [%1]\n\tldp q2, q3, [%1, #32]\n\t"
            "stnp q0, q1, [%0]\n\tstnp q2, q3, [%0, #32]"
            :
            : "r"(to), "r"(from)
            : "v0", "v1", "v2", "v3", "memory");
    asm volatile("dmb ishst" ::: "memory");
}
#else
constexpr bool kStreams = false;
void stream_lines(std::byte*, const std::byte*, std::size_t) noexcept {}
#endif

#if defined(__SSE2__) && !defined(DUOFI_ORDINARY_COPIES)
void copy_line(std::byte* to, const std::byte* from) noexcept {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_storeu_si128(target, a);
    _mm_storeu_si128(target + 1, b);
    _mm_storeu_si128(target + 2, c);
    _mm_storeu_si128(target + 3, d);
}
#endif

std::string first_word(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

// "32768K"
std::size_t cache_bytes(const std::string& text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return 0;
    const char unit = end == text.data() + text.size() ? '\0' : *end;
    return value << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

// Number of CPUs in "0-3,8".
std::size_t cpu_count(const std::string& list) {
    std::size_t count = 0;
    const char* at = list.data();
    const char* end = at + list.size();
    while (at < end) {
        std::size_t first = 0;
        auto parsed = std::from_chars(at, end, first);
        if (parsed.ec != std::errc{}) return 0;
        std::size_t last = first;
        if (parsed.ptr < end && *parsed.ptr == '-') {
            parsed = std::from_chars(parsed.ptr + 1, end, last);
            if (parsed.ec != std::errc{} || last < first) return 0;
        }
        count += last - first + 1;
        at = parsed.ptr < end && *parsed.ptr == ',' ? parsed.ptr + 1 : end;
    }
    return count;
}

}  // namespace

void copy_cached(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes != 0) std::memcpy(to, from, bytes);  // picks its method by CPU, and fences what needs it
}

void copy_handed_over(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__SSE2__) && !defined(DUOFI_ORDINARY_COPIES)
    constexpr std::size_t kAhead = 1024;
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    std::size_t done = 0;
    for (; bytes - done >= kAhead + kLine; done += kLine) {
        // Never more than a hint, also on CPUs that do not know it.
        asm volatile("prefetchw %0" : : "m"(source[done + kAhead]));
        copy_line(target + done, source + done);
    }
    copy_cached(target + done, source + done, bytes - done);
#else
    copy_cached(to, from, bytes);
#endif
}

void copy_streaming(void* to, const void* from, std::size_t bytes) noexcept {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    const std::size_t lead = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
    if (!kStreams || bytes < lead + kLine) return copy_cached(to, from, bytes);
    copy_small(target, source, lead);
    const std::size_t lines = (bytes - lead) / kLine;
    const std::size_t done = lead + lines * kLine;
    copy_small(target + done, source + done, bytes - done);
    stream_lines(target + lead, source + lead, lines);
}

std::size_t find_streaming_threshold(const char* cpu_root) noexcept {
    constexpr int kMostCaches = 16;
    std::size_t share = 0;
    int last_level = 0;
    for (int i = 0; i < kMostCaches; ++i) {
        const std::string cache = std::string(cpu_root) + "/cpu0/cache/index" + std::to_string(i);
        const std::string level = first_word(cache + "/level");
        if (level.size() != 1 || level[0] - '0' <= last_level || first_word(cache + "/type") == "Instruction") continue;
        const std::size_t bytes = cache_bytes(first_word(cache + "/size"));
        const std::size_t cpus = cpu_count(first_word(cache + "/shared_cpu_list"));
        if (bytes == 0 || cpus == 0) continue;
        share = bytes / cpus;
        last_level = level[0] - '0';
    }
    return share != 0 ? share / 2 : kUnknownThreshold;
}

std::size_t streaming_threshold() noexcept {
    static const std::size_t threshold = find_streaming_threshold("/sys/devices/system/cpu");
    return threshold;
}

}  // namespace duofi::local
