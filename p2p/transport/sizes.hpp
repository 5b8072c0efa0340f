// Sizes of buffers and of FIFO memory (p2p contract 1.10). Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

/// Largest sum of the three; beyond it the 32-bit rounding would wrap (T-9).
inline constexpr std::size_t kMaxBufferSum = 0x7fe00000;
/// Sizes are multiples of this: 8 slots of whole LL128 lines.
inline constexpr std::size_t kBufferUnit = 1024;

/// Errc::invalid_argument, after one WARN line, unless each is a positive multiple of kBufferUnit
/// and the sum is small enough.
[[nodiscard]] Status check_buffer_sizes(const BufferSizes& sizes);

/// Rounds up to 2 MiB, in 32 bits.
[[nodiscard]] constexpr std::uint32_t round_to_ipc_unit(std::uint32_t bytes) noexcept {
    return (bytes + (P2P_IPC_MIN - 1)) & P2P_IPC_MASK;
}

/// Bytes of a sender's and of a receiver's FIFO memory. `sizes` have been checked.
[[nodiscard]] std::size_t send_mem_bytes(const BufferSizes& sizes, bool read) noexcept;
[[nodiscard]] std::size_t recv_mem_bytes(const BufferSizes& sizes, bool read) noexcept;

/// Equal for equal sizes; goes into the trailer of a blob.
[[nodiscard]] std::uint32_t digest_of(const BufferSizes& sizes) noexcept;

}  // namespace duofi::p2p
