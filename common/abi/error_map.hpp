// What a caller is told when something failed (net contract 3.9). Pure functions, any thread.
#pragma once

#include "common/abi/host_types.h"
#include "common/util/error.hpp"

namespace duofi::abi {

/// Result for an errno or libfabric code of either sign; 0 is ncclSuccess. EINVAL: InternalError,
/// EMSGSIZE: InvalidUsage, a connection or node that is gone: RemoteError, all others: SystemError.
[[nodiscard]] ncclResult_t result_of_errno(int code) noexcept;

/// Result for an error class alone.
[[nodiscard]] ncclResult_t result_of(Errc code) noexcept;

/// Result for an error. Where the class leaves it open (`system`, `timed_out`) the provider's code
/// decides, so `fail(Errc::timed_out, place, ENOTCONN)` says that a peer was awaited.
[[nodiscard]] ncclResult_t result_of(const Error& error) noexcept;

}  // namespace duofi::abi
