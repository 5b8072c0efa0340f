// iput, iget and iflush.
#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/data_call.hpp"
#include "rma_plugin/entry.hpp"
#include "rma_plugin/group.hpp"

namespace duofi::rma {

namespace {

ncclResult_t no_request(const char* operation) noexcept {
    log::warn(log::net, messages::kRmaNullArgument, operation, "request");
    return ncclInvalidArgument;
}

}  // namespace

ncclResult_t iput(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                  std::uint64_t dst_off, void* dst, std::uint32_t rank, std::uint32_t, void** request) {
    if (request == nullptr) return no_request("iput");
    *request = nullptr;
    DataCall call;
    if (!begin_call(call, "iput", context, stream, rank) || !add_data(call, src_off, src, size, dst_off, dst))
        return ncclInvalidArgument;
    return start(call, false, request);
}

ncclResult_t iget(void* context, int stream, std::uint64_t remote_off, void* remote, std::size_t size,
                  std::uint64_t local_off, void* local, std::uint32_t rank, std::uint32_t, void** request) {
    if (request == nullptr) return no_request("iget");
    *request = nullptr;
    DataCall call;
    if (!begin_call(call, "iget", context, stream, rank) ||
        !add_data(call, local_off, local, size, remote_off, remote))
        return ncclInvalidArgument;
    return start(call, true, request);
}

// Host memory: what has arrived is visible. The request is there for callers that insist on one, and is done at the
// first test (F-2).
ncclResult_t iflush(void* context, int stream, void* mhandle, std::uint32_t rank, void** request) {
    if (request == nullptr) return no_request("iflush");
    *request = nullptr;
    DataCall call;
    if (!begin_call(call, "iflush", context, stream, rank) || window_of(call, mhandle, "mhandle") == nullptr)
        return ncclInvalidArgument;
    return finish_at_once(call, request);
}

}  // namespace duofi::rma
