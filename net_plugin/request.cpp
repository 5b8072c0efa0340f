#include "net_plugin/request.hpp"

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"

namespace duofi::net {

ncclResult_t test_request(Request* request, int* done, int* sizes) {
    if (request == nullptr || done == nullptr) {
        log::warn(log::net, messages::kNullArgument, "test", request == nullptr ? "request" : "done");
        return ncclInternalError;
    }
    *done = 0;
    RequestState state = request->state.load(std::memory_order_acquire);
    if (request->magic != Request::kMagic || state == RequestState::free) {
        log::warn(log::net, messages::kStaleRequest);
        return ncclInvalidUsage;
    }
    RequestOwner& owner = *request->owner;
    owner.progress(*request);  // also when the connection has ended: its completion may be there (A20)
    state = request->state.load(std::memory_order_acquire);
    if (state == RequestState::pending) return owner.failure();
    if (state == RequestState::done) {
        *done = 1;
        if (sizes != nullptr)
            for (int i = 0; i < request->size_count; ++i) sizes[i] = request->sizes[i];
        owner.retire(*request);
        return ncclSuccess;
    }
    const ncclResult_t result = request->result;
    owner.retire(*request);
    return result;
}

}  // namespace duofi::net
