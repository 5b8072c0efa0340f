// The caller's logger of tests: records every line of the process and knows which warnings a test
// expects. One recorder per process, as the C callback has no context. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/abi/host_types.h"

namespace duofi::test {

struct LogLine {
    ncclDebugLogLevel level = NCCL_LOG_NONE;
    unsigned long subsystems = 0;
    std::string text;
};

namespace log_capture {

/// The ncclDebugLogger_t to hand to init.
void record(ncclDebugLogLevel level, unsigned long flags, const char* file, int line,
            const char* format, ...) __attribute__((format(printf, 5, 6)));

[[nodiscard]] std::vector<LogLine> lines();

/// Number of lines at `level` that contain `part`.
[[nodiscard]] int count(ncclDebugLogLevel level, std::string_view part);

/// All lines, one per row, for failure messages.
[[nodiscard]] std::string dump();

/// Forgets lines and expectations.
void reset();

/// WARN lines that contain `part` are expected until reset; "" expects any.
void expect_warn(std::string part);

/// WARN lines that nobody expected.
[[nodiscard]] std::vector<std::string> unexpected_warnings();

}  // namespace log_capture
}  // namespace duofi::test
