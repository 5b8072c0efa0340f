// Atomic operations on memory of this process (fi_atomic(3)): integers of 4 and 8 bytes, done by the CPU, so that they
// are atomic against its own. Any thread.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>

#include <cstddef>

namespace duofi::sim {

/// Bytes of one operand; 0: not supported.
[[nodiscard]] std::size_t atomic_size(fi_datatype datatype) noexcept;
[[nodiscard]] bool atomic_known(fi_op op) noexcept;

/// `count` times: target = op(target, operand), the old value to `old`. False when an address is not aligned.
bool apply_atomic(fi_op op, fi_datatype datatype, void* target, const void* operand, void* old, std::size_t count) noexcept;

}  // namespace duofi::sim
