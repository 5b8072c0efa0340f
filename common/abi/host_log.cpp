#include "common/abi/host_log.hpp"

#include <atomic>

#include "common/util/log.hpp"

namespace duofi::abi {
namespace {

std::atomic<ncclDebugLogger_t> current_logger{nullptr};

static_assert(int(log::Level::none) == NCCL_LOG_NONE &&
              int(log::Level::version) == NCCL_LOG_VERSION);
static_assert(int(log::Level::warn) == NCCL_LOG_WARN && int(log::Level::info) == NCCL_LOG_INFO);
static_assert(int(log::Level::abort) == NCCL_LOG_ABORT && int(log::Level::trace) == NCCL_LOG_TRACE);
static_assert(int(log::init) == NCCL_INIT && int(log::net) == NCCL_NET &&
              int(log::env) == NCCL_ENV);
static_assert(int(log::reg) == NCCL_REG && log::all == static_cast<unsigned long>(NCCL_ALL));

void forward(log::Level level, unsigned long subsystems, const char* file, int line,
             const char* text) {
    const ncclDebugLogger_t logger = current_logger.load(std::memory_order_acquire);
    if (logger != nullptr)
        // Callers filter warnings by subsystem too, and by default let NET through for none (rma contract 2.1).
        logger(static_cast<ncclDebugLogLevel>(level), level == log::Level::warn ? log::all : subsystems, file,
               line, "%s", text);
}

}  // namespace

void adopt_host_logger(ncclDebugLogger_t logger) {
    if (logger != nullptr) current_logger.store(logger, std::memory_order_release);
    log::set_sink(&forward);
}

void release_host_logger() {
    current_logger.store(nullptr, std::memory_order_release);
    log::set_sink({});
}

}  // namespace duofi::abi
