// Memory of objects whose address is given to a caller. A slot is never unmapped while the slab lives, so an
// address used after its end is read safely and recognised by its magic; slots are used again in the order
// they were given back. Any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

namespace duofi {

/// `ReuseDistance`: slots that rest before the oldest is used again.
template <typename T, std::size_t ReuseDistance = 64>
class HandleSlab {
  public:
    HandleSlab() = default;
    HandleSlab(const HandleSlab&) = delete;
    HandleSlab& operator=(const HandleSlab&) = delete;

    /// Throws std::bad_alloc.
    [[nodiscard]] T* acquire() {
        const std::scoped_lock lock(mutex_);
        if (free_.size() > ReuseDistance) {
            T* slot = free_.front();
            free_.pop_front();
            return slot;
        }
        return &slots_.emplace_back();
    }
    void release(T* slot) {
        const std::scoped_lock lock(mutex_);
        free_.push_back(slot);
    }
    [[nodiscard]] std::size_t in_use() const {
        const std::scoped_lock lock(mutex_);
        return slots_.size() - free_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::deque<T> slots_;
    std::deque<T*> free_;
};

}  // namespace duofi
