// test, rmaProgress and queryLastError. test alone moves everything on (E-3).
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/entry.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/instance.hpp"

namespace duofi::rma {

namespace {

ncclResult_t bad_object(const char* operation, const char* argument) noexcept {
    log::warn(log::net, messages::kRmaBadObject, operation, argument);
    return ncclInvalidArgument;
}

bool over(const Request& request) noexcept {
    const RequestState state = request.state.load(std::memory_order_acquire);
    return state == RequestState::done || state == RequestState::failed;
}

}  // namespace

ncclResult_t test(void* coll_comm, void* pointer, int* done) {
    if (done == nullptr) {
        log::warn(log::net, messages::kRmaNullArgument, "test", "done");
        return ncclInvalidArgument;
    }
    *done = 0;  // written each time (E-1)
    if (in_forked_child()) [[unlikely]] {
        log::warn(log::net, messages::kRmaForkedChild, "test");
        return ncclInvalidUsage;
    }
    if (pointer == nullptr) {
        *done = 1;  // E-5
        return ncclSuccess;
    }
    Group* group = find_object<Group>(coll_comm);
    if (group == nullptr) return bad_object("test", "collComm");
    auto& request = *static_cast<Request*>(pointer);
    if (request.magic != Request::kMagic || request.state.load(std::memory_order_acquire) == RequestState::free ||
        &request.context->group() != group) {
        log::warn(log::net, messages::kRmaStaleRequest);
        return ncclInvalidArgument;
    }
    ofi::Endpoint& endpoint = group->endpoint();
    if (!over(request)) {
        if (!endpoint.mutex().try_lock()) return ncclSuccess;  // somebody is polling for us
        const std::scoped_lock lock(std::adopt_lock, endpoint.mutex());
        endpoint.poll();
        if (!over(request)) return ncclSuccess;
    }
    const std::scoped_lock lock(endpoint.mutex());
    const bool failed = request.state.load(std::memory_order_relaxed) == RequestState::failed;
    const ncclResult_t result = failed ? request.result : ncclSuccess;
    request.context->retire(request);
    *done = failed ? 0 : 1;
    return result;
}

// Cheap when there is nothing to do, and not in the way of another poller (rma contract 3.11).
ncclResult_t rma_progress(void* context) {
    if (in_forked_child()) [[unlikely]] return ncclInvalidUsage;
    Context* known = find_object<Context>(context);
    if (known == nullptr) return bad_object("rmaProgress", "rmaCtx");
    ofi::Endpoint& endpoint = known->group().endpoint();
    if (!endpoint.mutex().try_lock()) return ncclSuccess;
    const std::scoped_lock lock(std::adopt_lock, endpoint.mutex());
    endpoint.poll();
    return ncclSuccess;
}

ncclResult_t query_last_error(void* context, bool* has_error) {
    if (has_error == nullptr) {
        log::warn(log::net, messages::kRmaNullArgument, "queryLastError", "hasError");
        return ncclInvalidArgument;
    }
    *has_error = false;
    if (find_object<Context>(context) == nullptr) return bad_object("queryLastError", "rmaCtx");
    *has_error = static_cast<const ObjectHandle*>(context)->failed.load(std::memory_order_relaxed);
    return ncclSuccess;
}

}  // namespace duofi::rma
