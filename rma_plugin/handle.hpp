// The 128-byte handle that listen writes and connect reads (C-1): a listen handle and zeros.
#pragma once

#include "common/ofi/listen_handle.hpp"

namespace duofi::rma {

inline constexpr std::size_t kHandleBytes = 128;

/// Writes all 128 bytes.
void write_handle(void* out, const ofi::ListenHandle& handle) noexcept;

/// Errors, not logged: those of read_listen_handle; invalid_argument for NULL.
[[nodiscard]] Result<ofi::ListenHandle> read_handle(const void* in, std::uint32_t expected_provider) noexcept;

}  // namespace duofi::rma
