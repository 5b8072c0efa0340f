// Where a program that uses this library hears of its warnings: which operation, which peer, what
// the plugin answered. Any thread.
#pragma once

#include <functional>
#include <string>

namespace duofi::gin {

/// WARN lines of this library go to `sink`, for the whole process; an empty one drops them, as at
/// the start. It may be entered by several threads at once and must not call this function.
void set_warning_sink(std::function<void(const std::string& text)> sink);

}  // namespace duofi::gin
