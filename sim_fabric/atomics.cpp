#include "sim_fabric/atomics.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace duofi::sim {
namespace {

template <typename T>
T result_of(fi_op op, T before, T operand) noexcept {
    switch (op) {
        case FI_MIN: return std::min(before, operand);
        case FI_MAX: return std::max(before, operand);
        case FI_SUM: return static_cast<T>(before + operand);
        case FI_BOR: return before | operand;
        case FI_BAND: return before & operand;
        case FI_ATOMIC_WRITE: return operand;
        default: return before;  // FI_ATOMIC_READ
    }
}

template <typename T>
bool apply(fi_op op, void* target, const void* operands, void* old, std::size_t count) noexcept {
    if (reinterpret_cast<std::uintptr_t>(target) % alignof(T) != 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
        std::atomic_ref<T> word(static_cast<T*>(target)[i]);
        T operand{}, before = word.load(std::memory_order_relaxed);
        std::memcpy(&operand, static_cast<const std::byte*>(operands) + i * sizeof(T), sizeof(T));
        while (!word.compare_exchange_weak(before, result_of(op, before, operand), std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {}
        std::memcpy(static_cast<std::byte*>(old) + i * sizeof(T), &before, sizeof(T));
    }
    return true;
}

}  // namespace

std::size_t atomic_size(fi_datatype datatype) noexcept {
    if (datatype == FI_INT32 || datatype == FI_UINT32) return 4;
    return datatype == FI_INT64 || datatype == FI_UINT64 ? 8 : 0;
}

bool atomic_known(fi_op op) noexcept {
    for (const fi_op known : {FI_MIN, FI_MAX, FI_SUM, FI_BOR, FI_BAND, FI_ATOMIC_READ, FI_ATOMIC_WRITE})
        if (op == known) return true;
    return false;
}

bool apply_atomic(fi_op op, fi_datatype datatype, void* target, const void* operand, void* old, std::size_t count) noexcept {
    switch (datatype) {
        case FI_INT32: return apply<std::int32_t>(op, target, operand, old, count);
        case FI_UINT32: return apply<std::uint32_t>(op, target, operand, old, count);
        case FI_INT64: return apply<std::int64_t>(op, target, operand, old, count);
        case FI_UINT64: return apply<std::uint64_t>(op, target, operand, old, count);
        default: return false;
    }
}

}  // namespace duofi::sim
