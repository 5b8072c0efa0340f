// Requests of one comm. Grows by chunks up to a bound, then answers "not now" (net contract 3.4). The memory of
// the chunks goes back to the process-wide slab when the comm ends. acquire and the walks hold the endpoint's lock;
// release is for the comm's own thread and needs none; release_late is for whoever holds the lock.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "common/util/handle_slab.hpp"
#include "net_plugin/request.hpp"

namespace duofi::net {

template <typename T>
struct RequestChunk {
    static constexpr std::size_t kSlots = 16;
    std::array<T, kSlots> slots;
};

template <typename T>
using RequestSlab = HandleSlab<RequestChunk<T>, 4>;

template <typename T>
class RequestPool {
  public:
    RequestPool(RequestSlab<T>& slab, std::size_t bound) : slab_(slab), bound_(bound) {}
    RequestPool(const RequestPool&) = delete;
    RequestPool& operator=(const RequestPool&) = delete;
    ~RequestPool() {
        for (RequestChunk<T>* chunk : chunks_) {
            for (T& slot : chunk->slots) slot.state.store(RequestState::free, std::memory_order_release);
            if (!keep_memory_) slab_.release(chunk);
        }
    }

    /// A pending request, or nullptr at the bound. Throws std::bad_alloc.
    [[nodiscard]] T* acquire(RequestOwner& owner, Nanoseconds now) {
        if (free_ == nullptr) {
            free_ = late_;
            late_ = nullptr;
        }
        if (free_ == nullptr) {
            if (chunks_.size() * RequestChunk<T>::kSlots >= bound_) return nullptr;
            chunks_.reserve(chunks_.size() + 1);
            chunks_.push_back(slab_.acquire());
            for (T& slot : chunks_.back()->slots) {
                slot.next_free = free_;
                free_ = &slot;
            }
        }
        T* request = free_;
        free_ = request->next_free;
        request->owner = &owner;
        request->started = now;
        request->stall_told = false;
        request->size_count = 0;
        request->state.store(RequestState::pending, std::memory_order_release);
        return request;
    }
    void release(T& request) noexcept {
        request.state.store(RequestState::free, std::memory_order_release);
        request.next_free = free_;
        free_ = &request;
    }
    void release_late(T& request) noexcept {
        request.next_free = late_;
        late_ = &request;
    }
    /// The provider may still write into operations of these requests: their memory is never used again.
    void keep_memory() noexcept { keep_memory_ = true; }

    /// Every slot, in use or not.
    template <typename F>
    void for_each_slot(F&& f) {
        for (RequestChunk<T>* chunk : chunks_)
            for (T& slot : chunk->slots) f(slot);
    }
    template <typename F>
    void for_each_pending(F&& f) {
        for_each_slot([&](T& slot) {
            if (slot.pending()) f(slot);
        });
    }

  private:
    RequestSlab<T>& slab_;
    std::size_t bound_;
    std::vector<RequestChunk<T>*> chunks_;
    T* free_ = nullptr;
    T* late_ = nullptr;
    bool keep_memory_ = false;
};

}  // namespace duofi::net
