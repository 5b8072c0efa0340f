// Sends every line of the log to the caller's logger. Holds no thread and no file.
// All functions from any thread, but never from inside the logger itself: they wait for threads in
// it.
#pragma once

#include "common/abi/host_types.h"

namespace duofi::abi {

/// Makes `logger` the destination of all lines of the process; the newest wins, and once this
/// returns no thread is inside the one before. nullptr changes nothing, except that with no logger
/// so far lines are dropped. The logger gets "%s" as its format, so no text of ours is ever read as
/// one. Must be callable until the next adopt or `release_host_logger`.
void adopt_host_logger(ncclDebugLogger_t logger);

/// Drops all lines from now on; once this returns no thread is inside the caller's logger.
void release_host_logger();

}  // namespace duofi::abi
