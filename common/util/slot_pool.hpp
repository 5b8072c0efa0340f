// Requests of one owner, in chunks of a process-wide slab, and the states that a caller's test can meet. Not
// synchronised: whoever guards the owner guards the pool.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/util/handle_slab.hpp"

namespace duofi {

enum class RequestState : std::uint32_t {
    free = 0,  ///< in the pool; zero, so that memory never used reads as free
    pending,
    done,
    failed,    ///< test tells it once, then the request is free
};

template <typename T, std::size_t Slots>
struct SlotChunk {
    static constexpr std::size_t kSlots = Slots;
    std::array<T, kSlots> slots;
};

/// T has `state` (std::atomic<RequestState>), `next_free` and pending().
template <typename T, std::size_t Slots>
class SlotPool {
  public:
    using Chunk = SlotChunk<T, Slots>;
    using Slab = HandleSlab<Chunk, 4>;

    explicit SlotPool(Slab& slab) : slab_(slab) {}
    SlotPool(const SlotPool&) = delete;
    SlotPool& operator=(const SlotPool&) = delete;

    void release(T& slot) noexcept {
        slot.state.store(RequestState::free, std::memory_order_release);
        slot.next_free = free_;
        free_ = &slot;
    }
    /// The provider may still write into these: their memory is never used again.
    void keep_memory() noexcept { keep_memory_ = true; }

    /// Every slot, in use or not.
    template <typename F>
    void for_each_slot(F&& f) {
        for (Chunk* chunk : chunks_)
            for (T& slot : chunk->slots) f(slot);
    }
    template <typename F>
    void for_each_pending(F&& f) {
        for_each_slot([&](T& slot) {
            if (slot.pending()) f(slot);
        });
    }

  protected:
    ~SlotPool() {
        for (Chunk* chunk : chunks_) {
            for (T& slot : chunk->slots) slot.state.store(RequestState::free, std::memory_order_release);
            if (!keep_memory_) slab_.release(chunk);
        }
    }
    /// A free slot for which the caller fills in everything, its state last; nullptr when `bound` slots are in use.
    /// Throws std::bad_alloc.
    [[nodiscard]] T* take(std::size_t bound) {
        if (free_ == nullptr && !grow(bound)) return nullptr;
        T* slot = free_;
        free_ = slot->next_free;
        return slot;
    }
    [[nodiscard]] bool none_free() const noexcept { return free_ == nullptr; }
    /// A chain of slots linked by next_free, when none_free().
    void add_free(T* chain) noexcept { free_ = chain; }

  private:
    [[nodiscard]] bool grow(std::size_t bound) {
        if (chunks_.size() * Slots >= bound) return false;
        chunks_.reserve(chunks_.size() + 1);
        chunks_.push_back(slab_.acquire());
        for (T& slot : chunks_.back()->slots) {
            slot.next_free = free_;
            free_ = &slot;
        }
        return true;
    }

    Slab& slab_;
    std::vector<Chunk*> chunks_;
    T* free_ = nullptr;
    bool keep_memory_ = false;
};

}  // namespace duofi
