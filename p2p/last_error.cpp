#include "p2p/last_error.hpp"

#include <mutex>

#include "common/util/log.hpp"

namespace duofi::p2p {
namespace {

std::string& slot() noexcept {
    thread_local std::string text;
    return text;
}

}  // namespace

void adopt_logger(ncclDebugLogger_t logger) {
    static std::mutex mutex;
    static bool installed = false;
    const std::lock_guard lock(mutex);
    if (logger == nullptr && installed) return;
    installed = true;
    log::set_sink([logger](log::Level level, unsigned long subsystems, const char* file, int line,
                           const char* text) {
        if (level == log::Level::warn) slot() = text;
        if (logger != nullptr)
            logger(static_cast<ncclDebugLogLevel>(level), subsystems, file, line, "%s", text);
    });
}

const std::string& last_warning() noexcept {
    return slot();
}

void forget_warning() noexcept {
    slot().clear();
}

}  // namespace duofi::p2p
