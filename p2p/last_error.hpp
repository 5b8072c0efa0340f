// What duofiP2pGetLastError tells: the last warning of the calling thread. Any thread.
#pragma once

#include <string>

#include "common/abi/host_types.h"

namespace duofi::p2p {

/// Sends lines to `logger` from now on and remembers warnings per thread. NULL keeps the logger in
/// force, if any.
void adopt_logger(ncclDebugLogger_t logger);

/// Text of the calling thread's last warning, "" if there was none since forget_warning().
[[nodiscard]] const std::string& last_warning() noexcept;
void forget_warning() noexcept;

}  // namespace duofi::p2p
