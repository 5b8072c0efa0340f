// The plugin of this process: made by init, kept until the library is unloaded. A second init is cheap and changes
// only the logger (net contract 1.7).
#pragma once

#include <cstdint>
#include <string_view>

#include "common/abi/host_types.h"

namespace duofi::net {

/// Whose tables were bound: Neuron's have one-sided calls (net contract 1.5).
enum class TableFamily : std::uint8_t { canonical, neuron };

/// Runs the init sequence, or does nothing but adopt the logger when it has run. `table_version` is the version
/// of the table that the caller bound. A failure leaves nothing behind; the next call starts anew.
[[nodiscard]] ncclResult_t init(ncclDebugLogger_t logger, int table_version,
                                TableFamily family = TableFamily::canonical);

/// Ends the plugin; the next init starts anew. Comms and registrations that are still open stay usable for nothing but
/// their close and deregMr, which then answer ncclInvalidArgument without a line (net contract 3.7). Errors:
/// ncclSystemError when there is nothing to end, logged (3.9).
[[nodiscard]] ncclResult_t fini();

/// Provider of the devices; "" before init.
[[nodiscard]] std::string_view provider_name() noexcept;

/// Is this a forked child of the process that ran init (architecture 4.14)? No system call.
[[nodiscard]] bool in_forked_child() noexcept;

}  // namespace duofi::net
