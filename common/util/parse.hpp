// Text -> value, for settings and tools. Pure functions: no environment, no locale, no logging; any
// thread. Blanks around the text are ignored. Errors: Errc::invalid_argument with EINVAL (not of
// that form) or ERANGE (outside the limits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/util/error.hpp"

namespace duofi {

/// 0/1, true/false, yes/no, on/off in any case, or any integer (0 is false, the rest true).
[[nodiscard]] Result<bool> parse_bool(std::string_view text);

/// A decimal integer with optional sign, low <= value <= high.
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low,
                                                 std::int64_t high);

/// As parse_integer, with an optional K, M or G (powers of 1024; any case; "KB" and "KiB" also
/// work).
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text, std::int64_t low,
                                              std::int64_t high);

/// A finite decimal number, low <= value <= high.
[[nodiscard]] Result<double> parse_decimal(std::string_view text, double low, double high);

/// A decimal number with an optional unit us, ms, s, m or h; seconds without one. Result and limits
/// are seconds.
[[nodiscard]] Result<double> parse_duration(std::string_view text, double low, double high);

/// Comma list. Blanks around elements and empty elements are dropped; an error if none is left.
[[nodiscard]] Result<std::vector<std::string>> parse_list(std::string_view text);

/// Index of the name that equals the text in any case.
[[nodiscard]] Result<std::size_t> parse_choice(std::string_view text,
                                               std::span<const std::string_view> names);

/// Interface list as hosts write theirs: a comma list of names, the first with an optional leading
/// '^' (all but these), then '=' (exact names, not prefixes). Checks the form only; at most 15
/// characters of letters, digits and ._-@ per name (user-reports A7, W7).
[[nodiscard]] Status check_interface_list(std::string_view text);

/// Provider name: parts of letters, digits, '_' and '-' that begin with a letter, joined by ';'.
[[nodiscard]] Status check_provider_name(std::string_view text);

[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

/// Number of single-character inserts, deletes and replacements between two words (any case).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace duofi
