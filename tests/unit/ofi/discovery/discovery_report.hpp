// One run of discovery as text, so that it can come back from a child process and be compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/util/settings.hpp"

namespace duofi::test {

/// Runs discovery with the tagged protocol's needs. Lines: "device <name> <provider> <address>
/// <pci> <guid> <speed>" in order, or "error <code> <number>"; then "info <text>" and "warn <text>"
/// for each log line.
[[nodiscard]] std::string discovery_report(const Settings& settings);

/// Rest of each line that begins with `key` and a blank.
[[nodiscard]] std::vector<std::string> lines_of(const std::string& report, std::string_view key);

/// First word of each device line.
[[nodiscard]] std::vector<std::string> device_names(const std::string& report);

/// True when a line with that key contains `part`.
[[nodiscard]] bool has_line(const std::string& report, std::string_view key, std::string_view part);

}  // namespace duofi::test
