// ncclNetPlugin_v6, canonical layout (net contract 2.2): struct conversion and the table.
#include <climits>

#include "common/abi/boundary.hpp"
#include "common/abi/net_v6.h"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/abi/group.hpp"
#include "net_plugin/entry.hpp"
#include "net_plugin/network_name.hpp"
#include "net_plugin/plugin.hpp"

namespace duofi::net::nccl_v6 {

namespace {

ncclResult_t init(ncclDebugLogger_t logger) { return net::init(logger, 6); }

ncclResult_t get_properties(int device, ncclNetProperties_v6_t* out) {
    if (out == nullptr) {
        log::warn(log::net, messages::kNullArgument, "getProperties", "props");
        return ncclInternalError;
    }
    const DeviceProperties* properties = nullptr;
    const ncclResult_t result = net::get_properties(device, &properties);
    if (result == ncclSuccess) *out = to_v6(*properties);
    return result;
}

ncclResult_t reg_mr(void* comm, void* data, int size, int type, void** mhandle) {
    if (size < 0) size = 0;  // refused like an empty range
    return net::reg_mr(comm, data, static_cast<std::size_t>(size), type, mhandle);
}

ncclResult_t isend(void* comm, void* data, int size, int tag, void* mhandle, void** request) {
    if (size < 0) {
        log::warn(log::net, messages::kBadSize, "isend", size, "0..INT_MAX");
        if (request != nullptr) *request = nullptr;
        return ncclInvalidArgument;
    }
    return net::isend(comm, data, static_cast<std::size_t>(size), tag, mhandle, request);
}

ncclResult_t irecv(void* comm, int n, void** data, int* sizes, int* tags, void** mhandles, void** request) {
    Group group;
    if (!group.fill("irecv", n, data, sizes, tags, mhandles)) {
        if (request != nullptr) *request = nullptr;
        return ncclInvalidArgument;
    }
    return net::irecv(comm, n, group.buffers, request);
}

ncclResult_t iflush(void* comm, int n, void** data, int* sizes, void** mhandles, void** request) {
    Group group;
    int tags[kMaxGroupReceives] = {};
    if (!group.fill("iflush", n, data, sizes, tags, mhandles)) {
        if (request != nullptr) *request = nullptr;
        return ncclInvalidArgument;
    }
    return net::iflush(comm, n, group.buffers, request);
}

}  // namespace

}  // namespace duofi::net::nccl_v6

namespace net = duofi::net;
namespace v6 = duofi::net::nccl_v6;
using duofi::abi::entry;

extern "C" [[gnu::visibility("default")]] ncclNet_v6_t ncclNetPlugin_v6;
ncclNet_v6_t ncclNetPlugin_v6 = {
    .name = net::kNetworkName,
    .init = entry<&v6::init>,
    .devices = entry<&net::devices>,
    .getProperties = entry<&v6::get_properties>,
    .listen = entry<&net::listen>,
    .connect = entry<&net::connect>,
    .accept = entry<&net::accept>,
    .regMr = entry<&v6::reg_mr>,
    .regMrDmaBuf = entry<&net::reg_mr_dmabuf>,
    .deregMr = entry<&net::dereg_mr>,
    .isend = entry<&v6::isend>,
    .irecv = entry<&v6::irecv>,
    .iflush = entry<&v6::iflush>,
    .test = entry<&net::test>,
    .closeSend = entry<&net::close_send>,
    .closeRecv = entry<&net::close_recv>,
    .closeListen = entry<&net::close_listen>,
};

namespace {

// The caller compares the name with NCCL_NET before init (net contract 1.3).
[[gnu::constructor]] void choose_name() { ncclNetPlugin_v6.name = net::network_name(); }

}  // namespace
