// The report of `duofi info` for people. Pure functions.
#pragma once

#include <string>

#include "tools/duofi/info_report.hpp"

namespace duofi::tool {

[[nodiscard]] std::string info_text(const InfoReport& report);
/// Only the table of settings, all rows.
[[nodiscard]] std::string settings_text(const InfoReport& report);

}  // namespace duofi::tool
