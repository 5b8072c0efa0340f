#include "tests/support/log_capture.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

namespace duofi::test::log_capture {
namespace {

struct Recorder {
    std::mutex mutex;
    std::vector<LogLine> lines;
    std::vector<std::string> expected;
};

// Never destroyed: a plugin thread may log while the process exits.
Recorder& recorder() {
    static auto* instance = new Recorder;
    return *instance;
}

bool expected(const Recorder& r, const std::string& text) {
    for (const std::string& part : r.expected) {
        if (text.find(part) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

void record(ncclDebugLogLevel level, unsigned long flags, const char* /*file*/, int /*line*/,
            const char* format, ...) {
    std::array<char, 2048> text{};
    va_list args;
    va_start(args, format);
    std::vsnprintf(text.data(), text.size(), format, args);
    va_end(args);
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    r.lines.push_back({level, flags, text.data()});
}

std::vector<LogLine> lines() {
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    return r.lines;
}

int count(ncclDebugLogLevel level, std::string_view part) {
    int n = 0;
    for (const LogLine& line : lines()) {
        if (line.level == level && line.text.find(part) != std::string::npos) ++n;
    }
    return n;
}

std::string dump() {
    std::string all;
    for (const LogLine& line : lines()) {
        all += std::to_string(static_cast<int>(line.level)) + " " + line.text + "\n";
    }
    return all;
}

void reset() {
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    r.lines.clear();
    r.expected.clear();
}

void expect_warn(std::string part) {
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    r.expected.push_back(std::move(part));
}

std::vector<std::string> unexpected_warnings() {
    Recorder& r = recorder();
    const std::lock_guard lock(r.mutex);
    std::vector<std::string> found;
    for (const LogLine& line : r.lines) {
        if (line.level == NCCL_LOG_WARN && !expected(r, line.text)) found.push_back(line.text);
    }
    return found;
}

}  // namespace duofi::test::log_capture
