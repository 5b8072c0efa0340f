// Runs a recorded stream again. One thread per call.
#pragma once

#include <span>

#include "common/gin/gin_proxy.hpp"
#include "common/gin/stream.hpp"

namespace duofi::gin {

struct ReplayOptions {
    bool paced = false;  ///< keep the recorded distances in time; else as fast as credits allow
};

/// Posts every entry to its context and peer in the recorded order, then waits until all are done.
/// `windows` are this run's regions in the recorded order, at least as large as those. Errors:
/// Errc::invalid_argument when communicator or windows are less than the stream needs,
/// Errc::timed_out, Errc::remote when the proxy failed. Entries that were dropped from the
/// recording are missing here, too.
[[nodiscard]] Status replay(const Stream& stream, DeviceComm& comm, std::span<const Window> windows,
                            const ReplayOptions& options = {});

}  // namespace duofi::gin
