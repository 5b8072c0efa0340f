// ncclNetPlugin_v4, Neuron layout (net contract 1.5, 2.2): struct conversion, one message per call, the table.
#include "common/abi/boundary.hpp"
#include "common/abi/net_neuron.h"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/entry.hpp"
#include "net_plugin/network_name.hpp"
#include "net_plugin/neuron/calls.hpp"
#include "net_plugin/neuron/table_properties.hpp"
#include "net_plugin/plugin.hpp"

namespace duofi::net::neuron_v4 {

namespace {

ncclResult_t init(ncclDebugLogger_t logger) { return net::init(logger, 4, TableFamily::neuron); }

ncclResult_t get_properties(int device, ncclNetProperties_neuron_v4_t* out) {
    if (out == nullptr) {
        log::warn(log::net, messages::kNullArgument, "getProperties", "props");
        return ncclInternalError;
    }
    const DeviceProperties* properties = nullptr;
    const ncclResult_t result = net::get_properties(device, &properties);
    if (result == ncclSuccess) *out = to_neuron_v4(*properties);
    return result;
}

ncclResult_t isend(void* comm, void* data, int size, void* mhandle, void** request) {
    return neuron::isend(comm, data, size, 0, mhandle, request);
}

ncclResult_t irecv(void* comm, void* data, int size, void* mhandle, void** request) {
    int tag = 0;
    return neuron::irecv(comm, 1, &data, &size, &tag, &mhandle, request);
}

ncclResult_t iflush(void* comm, void* data, int size, void* mhandle, void** request) {
    return neuron::iflush(comm, 1, &data, &size, &mhandle, request);
}

}  // namespace

}  // namespace duofi::net::neuron_v4

namespace net = duofi::net;
namespace neuron = duofi::net::neuron;
namespace v4 = duofi::net::neuron_v4;
using duofi::abi::entry;

extern "C" [[gnu::visibility("default")]] ncclNet_neuron_v4_t ncclNetPlugin_v4;
ncclNet_neuron_v4_t ncclNetPlugin_v4 = {
    .name = net::kNetworkName,
    .init = entry<&v4::init>,
    .devices = entry<&net::devices>,
    .getProperties = entry<&v4::get_properties>,
    .listen = entry<&neuron::listen_v4>,
    .connect = entry<&neuron::connect_v4>,
    .accept = entry<&neuron::accept_v4>,
    .regMr = entry<&net::reg_mr>,
    .deregMr = entry<&net::dereg_mr>,
    .isend = entry<&v4::isend>,
    .irecv = entry<&v4::irecv>,
    .iflush = entry<&v4::iflush>,
    .test = entry<&net::test>,
    .closeSend = entry<&net::close_send>,
    .closeRecv = entry<&net::close_recv>,
    .closeListen = entry<&net::close_listen>,
};

namespace {

[[gnu::constructor]] void choose_name() { ncclNetPlugin_v4.name = net::network_name(); }

}  // namespace
