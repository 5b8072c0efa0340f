#include "rma_plugin/context.hpp"

#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/lane.hpp"

namespace duofi::rma {

Context::Context(Group& group, int count)
    : group_(group), count_(count), pool_(caller_objects().requests) {}

Context::~Context() = default;

Request& Context::acquire_request() {
    Request& request = pool_.acquire(*this, group_.endpoint().tick_time());
    ++outstanding_;
    return request;
}

void Context::finish(Request& request) noexcept {
    --outstanding_;
    request.state.store(RequestState::done, std::memory_order_release);
}

void Context::fail(Request& request, ncclResult_t result) noexcept {
    set_failed();
    --outstanding_;
    request.result = result;
    request.state.store(RequestState::failed, std::memory_order_release);
}

void Context::retire(Request& request) noexcept {
    if (!request.in_flight) return pool_.release(request);
    request.retired = true;
    request.state.store(RequestState::free, std::memory_order_release);
}

void Context::fail_requests(const Lane& lane) noexcept {
    pool_.for_each_pending([&](Request& request) {
        if (request.lane == &lane) fail(request, ncclRemoteError);
    });
}

void Context::drain(Nanoseconds limit) {
    ofi::Endpoint& endpoint = group_.endpoint();
    const bool drained = group_.wait([&] { return outstanding_ == 0; }, limit);
    const std::scoped_lock lock(endpoint.mutex());
    if (!drained) log::info(log::net, messages::kRmaContextAbandoned, outstanding_, limit / kMillisecond);
    abandon();
}

// What the provider still holds stays behind, unowned; the rest is forgotten.
void Context::abandon() noexcept {
    group_.for_each_lane([&](Lane& lane) { lane.abandon(*this); });
    pool_.for_each_slot([&](Request& request) {
        if (!request.in_flight) return;
        request.lane->adopt(request);
        pool_.keep_memory();
    });
}

}  // namespace duofi::rma
