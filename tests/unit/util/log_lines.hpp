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
