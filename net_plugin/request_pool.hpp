// Requests of one comm. Grows by chunks up to a bound, then answers "not now" (net contract 3.4). The memory of
// the chunks goes back to the process-wide slab when the comm ends. acquire and the walks hold the endpoint's lock;
// release is for the comm's own thread and needs none; release_late is for whoever holds the lock.
#pragma once

#include <cstddef>

#include "common/util/slot_pool.hpp"
#include "net_plugin/request.hpp"

namespace duofi::net {

template <typename T>
class RequestPool : public SlotPool<T, 16> {
  public:
    RequestPool(typename SlotPool<T, 16>::Slab& slab, std::size_t bound) : SlotPool<T, 16>(slab), bound_(bound) {}

    /// A pending request, or nullptr at the bound. Throws std::bad_alloc.
    [[nodiscard]] T* acquire(RequestOwner& owner, Nanoseconds now) {
        if (this->none_free()) {
            this->add_free(late_);
            late_ = nullptr;
        }
        T* request = this->take(bound_);
        if (request == nullptr) return nullptr;
        request->owner = &owner;
        request->started = now;
        request->stall_told = false;
        request->size_count = 0;
        request->state.store(RequestState::pending, std::memory_order_release);
        return request;
    }
    void release_late(T& request) noexcept {
        request.next_free = late_;
        late_ = &request;
    }

  private:
    std::size_t bound_;
    T* late_ = nullptr;
};

template <typename T>
using RequestChunk = typename RequestPool<T>::Chunk;
template <typename T>
using RequestSlab = typename RequestPool<T>::Slab;

}  // namespace duofi::net
