// Front end of all messages. Texts live in common/util/messages/, never at the call site.
// Any thread may log; setting the sink is for init and for tools. Never call above trace on a hot path.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

namespace duofi::log {

/// Values equal the callers' (net contract 2.1).
enum class Level : int { none = 0, version = 1, warn = 2, info = 3, abort = 4, trace = 5 };

/// Subsystem bits of the callers (net contract 2.1).
enum Subsystem : unsigned long {
    init = 0x1,
    net = 0x10,
    env = 0x80,
    reg = 0x2000,
    all = ~0UL,
};

/// Receives one finished line without a newline. `file` and `line` are the place of the call.
using Sink = std::function<void(Level, unsigned long subsystems, const char* file, int line,
                                const char* text)>;

/// Replaces the sink for the whole process; an empty sink (the state at start) drops lines. Threads that
/// are inside a log call finish with the old sink before this returns. Should one of them stay there for
/// more than 5 s (the caller's logger hangs), the old sink is kept alive instead and this returns.
/// A sink may be entered by several threads at once, must not call set_sink, and may throw (the line is
/// then lost).
void set_sink(Sink sink);

/// Lines above this level are not formatted. Level::info until load_settings() has found another one in
/// NCCL_DEBUG; tools and tests set their own afterwards.
void set_threshold(Level level) noexcept;
[[nodiscard]] bool enabled(Level level) noexcept;

/// Formats and passes the line on, whatever its length; control characters become blanks, so that one
/// call is one line. Never throws.
void write(Level level, unsigned long subsystems, const char* file, int line, fmt::string_view format,
           fmt::format_args args) noexcept;

/// A format string checked at compile time together with the place of the call.
template <typename... Args>
struct Format {
    fmt::format_string<Args...> text;
    const char* file;
    int line;
    template <typename S>
    consteval Format(const S& s, const char* f = __builtin_FILE(), int l = __builtin_LINE())
        : text(s), file(f), line(l) {}
};

template <typename... Args>
void warn(unsigned long subsystems, Format<std::type_identity_t<Args>...> f, Args&&... args) {
    if (enabled(Level::warn))
        write(Level::warn, subsystems, f.file, f.line, f.text, fmt::make_format_args(args...));
}

template <typename... Args>
void info(unsigned long subsystems, Format<std::type_identity_t<Args>...> f, Args&&... args) {
    if (enabled(Level::info))
        write(Level::info, subsystems, f.file, f.line, f.text, fmt::make_format_args(args...));
}

template <typename... Args>
void trace(unsigned long subsystems, Format<std::type_identity_t<Args>...> f, Args&&... args) {
    if (enabled(Level::trace)) [[unlikely]]
        write(Level::trace, subsystems, f.file, f.line, f.text, fmt::make_format_args(args...));
}

}  // namespace duofi::log
