#include "common/gin/warnings.hpp"

#include <utility>

#include "common/util/log.hpp"

namespace duofi::gin {

void set_warning_sink(std::function<void(const std::string& text)> sink) {
    if (!sink) return log::set_sink({});
    log::set_sink([target = std::move(sink)](log::Level level, unsigned long, const char*, int,
                                             const char* text) {
        if (level == log::Level::warn) target(text);
    });
}

}  // namespace duofi::gin
