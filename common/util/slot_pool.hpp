// A fixed number of objects that are made once and lent out again and again (requests, operations).
// One thread at a time uses a pool; callers lock around it if they share it. acquire and release
// are O(1) and never allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace duofi {

/// Pool of `T` (default-constructible; need not be movable). Objects keep their address and
/// whatever the last user left in them; the user resets what it needs after acquire().
template <typename T>
class SlotPool {
  public:
    /// Names one loan of a slot. Becomes stale when the slot is released; a value of a later loan
    /// of the same slot differs (until one slot was lent 2^31 times). A zero handle is never valid.
    struct Handle {
        std::uint32_t index = 0;
        std::uint32_t generation = 0;
        friend bool operator==(const Handle&, const Handle&) = default;
    };

    /// Makes all slots. Throws std::bad_alloc.
    explicit SlotPool(std::uint32_t capacity)
        : slots_(capacity != 0 ? std::make_unique<Slot[]>(capacity) : nullptr),
          capacity_(capacity) {
        for (std::uint32_t i = 0; i < capacity; ++i) slots_[i].next_free = i + 1;
    }
    SlotPool(const SlotPool&) = delete;
    SlotPool& operator=(const SlotPool&) = delete;

    /// The most recently released slot, or nullptr when all are lent.
    [[nodiscard]] T* acquire() noexcept {
        if (first_free_ == capacity_) return nullptr;
        Slot& slot = slots_[first_free_];
        first_free_ = slot.next_free;
        ++slot.generation;
        ++in_use_;
        return &slot.value;
    }

    /// Takes a slot back. Returns false, and does nothing, when the object is not lent by this pool
    /// (a foreign pointer, or released twice).
    bool release(T* object) noexcept {
        if (!lent(object)) return false;
        const std::uint32_t index = index_of(object);
        Slot& slot = slots_[index];
        ++slot.generation;
        slot.next_free = first_free_;
        first_free_ = index;
        --in_use_;
        return true;
    }

    /// True when `object` is exactly one of our objects and is lent now. Any address may be given;
    /// it is not dereferenced.
    [[nodiscard]] bool lent(const void* object) const noexcept {
        const std::uint32_t index = index_of(object);
        return index != capacity_ && (slots_[index].generation & 1U) != 0;
    }

    /// Handle of a lent object; the zero handle for anything else.
    [[nodiscard]] Handle handle_of(const T* object) const noexcept {
        if (!lent(object)) return {};
        const std::uint32_t index = index_of(object);
        return {index, slots_[index].generation};
    }

    /// The object of a handle, or nullptr when it was released since or is not ours.
    [[nodiscard]] T* find(Handle handle) noexcept {
        if ((handle.generation & 1U) == 0 || handle.index >= capacity_) return nullptr;
        Slot& slot = slots_[handle.index];
        return slot.generation == handle.generation ? &slot.value : nullptr;
    }

    /// Calls `f(T&)` for each lent object, in slot order. `f` may release the object it is given.
    template <typename F>
    void for_each_lent(F&& f) {
        for (std::uint32_t i = 0; i < capacity_; ++i)
            if ((slots_[i].generation & 1U) != 0) f(slots_[i].value);
    }

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }
    [[nodiscard]] bool full() const noexcept { return in_use_ == capacity_; }

  private:
    struct Slot {
        T value{};
        std::uint32_t generation = 0;  // odd while lent
        std::uint32_t next_free = 0;
    };

    // Slot number of an address, or capacity_ when it is not the address of one of our objects.
    [[nodiscard]] std::uint32_t index_of(const void* object) const noexcept {
        if (capacity_ == 0) return capacity_;
        const auto first = reinterpret_cast<std::uintptr_t>(&slots_[0].value);
        const auto distance = reinterpret_cast<std::uintptr_t>(object) - first;
        const std::uintptr_t index = distance / sizeof(Slot);
        if (distance % sizeof(Slot) != 0 || index >= capacity_) return capacity_;
        return static_cast<std::uint32_t>(index);
    }

    std::unique_ptr<Slot[]> slots_;
    std::uint32_t capacity_;
    std::uint32_t first_free_ = 0;
    std::uint32_t in_use_ = 0;
};

}  // namespace duofi
