// Where results go and in which form. Results go to stdout alone; everything else goes to stderr.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace duofi::tool {

/// Exit codes of every sub-command; printed by --help.
enum ExitCode : int { kOk = 0, kFailedCheck = 1, kUsage = 2, kSkipped = 77 };

enum class Form { table, csv, json };

using Value = std::variant<std::int64_t, std::uint64_t, double, bool, std::string>;

/// One measurement: independent variables first, units in the names.
using Record = std::vector<std::pair<std::string, Value>>;

[[nodiscard]] std::string csv_header(const Record& record);
[[nodiscard]] std::string csv_row(const Record& record);

/// Writes to stdout and flushes, so that lines of several processes do not interleave within a
/// line.
void print_result(std::string_view text);
/// "duofi: text" on stderr.
void complain(std::string_view text);

}  // namespace duofi::tool
