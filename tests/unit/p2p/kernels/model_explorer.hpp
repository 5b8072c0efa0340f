// An exhaustive explorer of two threads over a memory with stated rules (V-37). Thread bodies are
// ordinary functions over ModelMemory, deterministic in what they read; the explorer runs them
// again and again from the start with recorded results, visits every state once and tries every
// next operation and every value that the rules allow a load to return. One explorer at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "p2p/kernels/kernel.hpp"

namespace duofi::test {

enum class MemoryRules {
    sequential,       ///< one operation after the other
    total_store,      ///< store buffers: first in, first out; streaming stores leave in any order
    release_acquire,  ///< views of C++: stale values, and races of ordinary data are errors
};
inline constexpr MemoryRules kMemoryRules[] = {MemoryRules::sequential, MemoryRules::total_store,
                                               MemoryRules::release_acquire};
[[nodiscard]] const char* to_string(MemoryRules rules) noexcept;

/// The words that both threads see; only their addresses are used.
struct ModelWords {
    static constexpr std::size_t kCount = 64;
    alignas(64) std::array<std::uint64_t, kCount> word{};
};

enum class ModelOperation : std::uint8_t {
    load_relaxed,
    load_acquire,
    store_relaxed,
    store_release,
    read_data,
    write_data,
    stream_data,   ///< a non-temporal store
    stream_fence,  ///< all own stores are visible
};

struct ModelStep {
    ModelOperation operation;
    std::size_t location;
    std::uint64_t value;
};

/// Carries out or replays one operation of the running thread; returns what a load gets.
std::uint64_t model_perform(ModelOperation operation, const std::uint64_t* word,
                            std::uint64_t value = 0);
/// The value that was just loaded is not one that the thread waits for.
[[noreturn]] void model_reject();
/// A property of the protocol, checked by a thread body.
void model_check(bool holds, const char* what);

/// The policy that the protocols are templates over, with the model behind it.
struct ModelMemory {
    static std::uint64_t load_relaxed(std::uint64_t* word) {
        return model_perform(ModelOperation::load_relaxed, word);
    }
    static std::uint64_t load_acquire(std::uint64_t* word) {
        return model_perform(ModelOperation::load_acquire, word);
    }
    static void store_relaxed(std::uint64_t* word, std::uint64_t value) {
        model_perform(ModelOperation::store_relaxed, word, value);
    }
    static void store_release(std::uint64_t* word, std::uint64_t value) {
        model_perform(ModelOperation::store_release, word, value);
    }
    template <typename Accept>
    static bool await_relaxed(std::uint64_t* word, p2p::Waiter&, std::uint64_t& value,
                              Accept accept) {
        if (!accept(value = load_relaxed(word))) model_reject();
        return true;
    }
    template <typename Accept>
    static bool await_acquire(std::uint64_t* word, p2p::Waiter&, std::uint64_t& value,
                              Accept accept) {
        if (!accept(value = load_acquire(word))) model_reject();
        return true;
    }
    /// Whole words only.
    static void write_data(void* shared, const void* own, std::size_t bytes) {
        const auto* from = static_cast<const std::uint64_t*>(own);
        for (std::size_t i = 0; i < bytes / 8; ++i)
            model_perform(ModelOperation::write_data, static_cast<std::uint64_t*>(shared) + i,
                          from[i]);
    }
    static void read_data(void* own, const void* shared, std::size_t bytes) {
        auto* to = static_cast<std::uint64_t*>(own);
        for (std::size_t i = 0; i < bytes / 8; ++i)
            to[i] = model_perform(ModelOperation::read_data,
                                  static_cast<const std::uint64_t*>(shared) + i);
    }
};

struct ModelResult {
    std::size_t states = 0;
    bool complete = false;  ///< every state was visited
    std::string violation;  ///< empty: none in any of them
};

struct ModelProgram {
    std::array<std::function<void()>, 2> threads;
    const ModelWords* words = nullptr;
    const std::uint64_t* weakened =
        nullptr;  ///< release stores to this word are relaxed: a seeded fault
};

/// Visits states until all are visited or one violates a check, races, or leaves both threads
/// waiting.
[[nodiscard]] ModelResult explore(const ModelProgram& program, MemoryRules rules);

}  // namespace duofi::test
