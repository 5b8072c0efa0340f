#include "rma_plugin/request_pool.hpp"

#include <cstdint>

namespace duofi::rma {

Request& RequestPool::acquire(Context& context, Nanoseconds now) {
    Request& request = *take(SIZE_MAX);
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

}  // namespace duofi::rma
