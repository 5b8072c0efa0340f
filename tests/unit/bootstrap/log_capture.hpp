// Collects the lines of the log for one test.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "common/util/log.hpp"

namespace duofi::bootstrap::test {

class LogCapture {
  public:
    LogCapture() {
        log::set_threshold(log::Level::info);
        log::set_sink([this](log::Level level, unsigned long, const char*, int, const char* text) {
            const std::lock_guard lock(mutex_);
            lines_.emplace_back(level, text);
        });
    }
    ~LogCapture() { log::set_sink({}); }
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;

    /// Number of lines of this level that contain the text.
    [[nodiscard]] int count(log::Level level, const std::string& part) const {
        const std::lock_guard lock(mutex_);
        int found = 0;
        for (const auto& [line_level, text] : lines_)
            if (line_level == level && text.find(part) != std::string::npos) ++found;
        return found;
    }
    [[nodiscard]] std::string all() const {
        const std::lock_guard lock(mutex_);
        std::string joined;
        for (const auto& line : lines_) joined += line.second + "\n";
        return joined;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<log::Level, std::string>> lines_;
};

}  // namespace duofi::bootstrap::test
