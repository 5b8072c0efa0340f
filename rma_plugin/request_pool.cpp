#include "rma_plugin/request_pool.hpp"

namespace duofi::rma {

RequestPool::~RequestPool() {
    for (RequestChunk* chunk : chunks_) {
        for (Request& slot : chunk->slots) slot.state.store(RequestState::free, std::memory_order_release);
        if (!keep_memory_) slab_.release(chunk);
    }
}

void RequestPool::grow() {
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back(slab_.acquire());
    for (Request& slot : chunks_.back()->slots) {
        slot.next_free = free_;
        free_ = &slot;
    }
}

Request& RequestPool::acquire(Context& context, Nanoseconds now) {
    if (free_ == nullptr) grow();
    Request& request = *free_;
    free_ = request.next_free;
    request.context = &context;
    request.lane = nullptr;
    request.started = now;
    request.stall_told = false;
    request.get = false;
    request.in_flight = false;
    request.applied = false;
    request.confirmed = false;
    request.cut_short = false;
    request.retired = false;
    request.posted = 0;
    request.size = 0;
    request.sequence = 0;
    request.signal.wanted = false;
    request.state.store(RequestState::pending, std::memory_order_release);
    return request;
}

void RequestPool::release(Request& request) noexcept {
    request.state.store(RequestState::free, std::memory_order_release);
    request.next_free = free_;
    free_ = &request;
}

}  // namespace duofi::rma
