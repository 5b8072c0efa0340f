// Every access of the data plane to memory that two ends share goes through one of these functions
// (p2p contract 4.6). The protocols are templates over this class, so that the model checker of the
// tests runs the very same code over a memory of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "p2p/kernels/kernel.hpp"

namespace duofi::p2p {

/// Real memory. Words are 8-byte aligned.
struct HardwareMemory {
    using Word = std::atomic_ref<std::uint64_t>;
    static_assert(Word::is_always_lock_free);

    [[nodiscard]] static std::uint64_t load_relaxed(std::uint64_t* word) {
        return Word(*word).load(std::memory_order_relaxed);
    }
    [[nodiscard]] static std::uint64_t load_acquire(std::uint64_t* word) {
        return Word(*word).load(std::memory_order_acquire);
    }
    static void store_relaxed(std::uint64_t* word, std::uint64_t value) {
        Word(*word).store(value, std::memory_order_relaxed);
    }
    static void store_release(std::uint64_t* word, std::uint64_t value) {
        Word(*word).store(value, std::memory_order_release);
    }

    /// Looks until `accept(value)`; false when the waiter gave up. `value` is the last one seen.
    template <typename Accept>
    [[nodiscard]] static bool await_relaxed(std::uint64_t* word, Waiter& waiter,
                                            std::uint64_t& value, Accept accept) {
        while (!accept(value = load_relaxed(word)))
            if (!waiter.pause()) return false;
        return true;
    }
    template <typename Accept>
    [[nodiscard]] static bool await_acquire(std::uint64_t* word, Waiter& waiter,
                                            std::uint64_t& value, Accept accept) {
        while (!accept(value = load_acquire(word)))
            if (!waiter.pause()) return false;
        return true;
    }

    /// Data that a counter or a flag protects: ordinary loads and stores.
    static void write_data(void* shared, const void* own, std::size_t bytes) {
        std::memcpy(shared, own, bytes);
    }
    static void read_data(void* own, const void* shared, std::size_t bytes) {
        std::memcpy(own, shared, bytes);
    }
};

}  // namespace duofi::p2p
