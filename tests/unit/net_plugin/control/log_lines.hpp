// Collects the log lines of one test. One at a time per process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/util/log.hpp"

namespace duofi::net::test {

class LogLines {
  public:
    struct Line {
        log::Level level;
        std::string text;
    };

    LogLines() {
        log::set_threshold(log::Level::info);
        log::set_sink([this](log::Level level, unsigned long, const char*, int, const char* text) {
            lines_.push_back({level, text});
        });
    }
    ~LogLines() { log::set_sink({}); }
    LogLines(const LogLines&) = delete;
    LogLines& operator=(const LogLines&) = delete;

    [[nodiscard]] bool has(log::Level level, const std::string& text) const {
        return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
            return line.level == level && line.text == text;
        });
    }
    [[nodiscard]] bool info(const std::string& text) const { return has(log::Level::info, text); }
    [[nodiscard]] bool warn(const std::string& text) const { return has(log::Level::warn, text); }
    [[nodiscard]] std::size_t warnings() const {
        return static_cast<std::size_t>(
            std::count_if(lines_.begin(), lines_.end(),
                          [](const Line& line) { return line.level == log::Level::warn; }));
    }
    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> out;
        for (const Line& line : lines_) out.push_back(line.text);
        return out;
    }
    [[nodiscard]] std::string last() const { return lines_.empty() ? "" : lines_.back().text; }

  private:
    std::vector<Line> lines_;
};

}  // namespace duofi::net::test
