// The plugin of this process: made by init, kept until the library is unloaded. A second init is cheap and changes
// only the logger (net contract 1.7).
#pragma once

#include <string_view>

#include "common/abi/host_types.h"

namespace duofi::net {

/// Runs the init sequence, or does nothing but adopt the logger when it has run. `table_version` is the version
/// of the table that the caller bound. A failure leaves nothing behind; the next call starts anew.
[[nodiscard]] ncclResult_t init(ncclDebugLogger_t logger, int table_version);

/// Provider of the devices; "" before init.
[[nodiscard]] std::string_view provider_name() noexcept;

/// Is this a forked child of the process that ran init (architecture 4.14)? No system call.
[[nodiscard]] bool in_forked_child() noexcept;

}  // namespace duofi::net
