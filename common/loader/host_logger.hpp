// The logging callback that a caller hands to a plugin's init, as one C function for the whole
// process. Every function may be called from any thread at any time.
#pragma once

#include <functional>
#include <string>

#include "common/abi/host_types.h"

namespace duofi::loader {

/// One line that a plugin or the caller logged.
struct PluginLine {
    int level = 0;  ///< callers' values (net contract 2.1)
    unsigned long subsystems = 0;
    std::string
        file;  ///< as the plugin passed it; "<unknown>" for NULL, empty for the caller's own lines
    int line = 0;
    std::string text;  ///< formatted, without a newline at its end
};

using PluginLineSink = std::function<void(const PluginLine&)>;

/// The callback for a plugin's init. Formats printf-style (cut at 4095 bytes), drops what the
/// filter drops, passes the rest to the sink. Never throws into the plugin; NULL format is ignored.
[[nodiscard]] ncclDebugLogger_t host_logger() noexcept;

/// Replaces the sink; an empty one restores the default, which prints to stderr in the callers'
/// form. Threads inside a call finish with the old sink before this returns, so never call it from
/// a sink.
void set_host_sink(PluginLineSink sink);

/// The filter of the callers: a line passes when its level is not above `level` and it has a bit of
/// `subsystems` - also a WARN line, so a plugin's warning tagged NET alone is lost by default. At
/// first taken from NCCL_DEBUG and NCCL_DEBUG_SUBSYS, read at the first line.
void set_host_level(int level, unsigned long subsystems = ~0UL);

/// Prints one line of the caller itself through the same filter and sink; fits HostLog.
void host_line(int level, unsigned long subsystems, const std::string& text);

/// Value of NCCL_DEBUG: VERSION, WARN, INFO, ABORT, TRACE in any case; everything else is none.
[[nodiscard]] int host_level_of(const std::string& text) noexcept;

/// Value of NCCL_DEBUG_SUBSYS: comma list of names, a leading ^ selects all but these. Unknown
/// names are ignored. Unset means INIT, BOOTSTRAP and ENV.
[[nodiscard]] unsigned long host_subsystems_of(const std::string& text) noexcept;

/// "<node>:<pid>:<tid> [0] NCCL INFO text"; WARN and TRACE lines have "<file>:<line> " before NCCL.
/// The empty line and the time stamp that newer callers print before a WARN are left out.
[[nodiscard]] std::string as_host_line(const PluginLine& line);

}  // namespace duofi::loader
