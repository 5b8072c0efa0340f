// Records what goes through duofi::log while it lives; then lines are dropped again.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/util/log.hpp"

namespace duofi::test {

class LogLines {
  public:
    struct Line {
        log::Level level;
        unsigned long subsystems;
        std::string file;
        int line;
        std::string text;
    };

    explicit LogLines(log::Level threshold = log::Level::info) {
        log::set_threshold(threshold);
        log::set_sink([this](log::Level level, unsigned long subsystems, const char* file, int line,
                             const char* text) {
            const std::lock_guard lock(mutex_);
            lines_.push_back({level, subsystems, file, line, text});
        });
    }
    ~LogLines() {
        log::set_sink({});
        log::set_threshold(log::Level::info);
    }
    LogLines(const LogLines&) = delete;
    LogLines& operator=(const LogLines&) = delete;

    std::vector<Line> all() const {
        const std::lock_guard lock(mutex_);
        return lines_;
    }
    /// Lines that contain `part`.
    std::vector<Line> with(std::string_view part) const {
        std::vector<Line> found = all();
        std::erase_if(found,
                      [&](const Line& line) { return line.text.find(part) == std::string::npos; });
        return found;
    }
    bool has(log::Level level, std::string_view text) const {
        return !std::ranges::none_of(all(), [&](const Line& line) { return line.level == level && line.text == text; });
    }
    bool info(std::string_view text) const { return has(log::Level::info, text); }
    bool warn(std::string_view text) const { return has(log::Level::warn, text); }
    std::size_t warnings() const {
        const auto lines = all();
        return static_cast<std::size_t>(
            std::ranges::count_if(lines, [](const Line& line) { return line.level == log::Level::warn; }));
    }
    std::vector<std::string> texts() const {
        std::vector<std::string> out;
        for (const Line& line : all()) out.push_back(line.text);
        return out;
    }
    std::string last() const {
        const auto lines = all();
        return lines.empty() ? "" : lines.back().text;
    }
    /// For failure messages.
    std::string dump() const {
        std::string text;
        for (const Line& line : all()) text += line.text + "\n";
        return text;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<Line> lines_;
};

}  // namespace duofi::test
