// ncclNetPlugin_v5, Neuron layout (net contract 1.5, 2.2): struct conversion and the table.
#include "common/abi/boundary.hpp"
#include "common/abi/net_neuron.h"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/entry.hpp"
#include "net_plugin/network_name.hpp"
#include "net_plugin/neuron/calls.hpp"
#include "net_plugin/neuron/table_properties.hpp"
#include "net_plugin/plugin.hpp"

namespace duofi::net::neuron_v5 {

namespace {

ncclResult_t init(ncclDebugLogger_t logger) { return net::init(logger, 5, TableFamily::neuron); }

ncclResult_t get_properties(int device, ncclNetProperties_neuron_v5_t* out) {
    if (out == nullptr) {
        log::warn(log::net, messages::kNullArgument, "getProperties", "props");
        return ncclInternalError;
    }
    const DeviceProperties* properties = nullptr;
    const ncclResult_t result = net::get_properties(device, &properties);
    if (result == ncclSuccess) *out = to_neuron_v6(*properties);
    return result;
}

}  // namespace

}  // namespace duofi::net::neuron_v5

namespace net = duofi::net;
namespace neuron = duofi::net::neuron;
using duofi::abi::entry;

extern "C" [[gnu::visibility("default")]] ncclNet_neuron_v5_t ncclNetPlugin_v5;
ncclNet_neuron_v5_t ncclNetPlugin_v5 = {
    .name = net::kNetworkName,
    .init = entry<&net::neuron_v5::init>,
    .devices = entry<&net::devices>,
    .getProperties = entry<&net::neuron_v5::get_properties>,
    .listen = entry<&net::listen>,
    .connect = entry<&net::connect>,
    .accept = entry<&net::accept>,
    .regMr = entry<&net::reg_mr>,
    .regMrDmaBuf = entry<&net::reg_mr_dmabuf>,
    .deregMr = entry<&net::dereg_mr>,
    .isend = entry<&neuron::isend>,
    .irecv = entry<&neuron::irecv>,
    .iflush = entry<&neuron::iflush>,
    .test = entry<&net::test>,
    .closeSend = entry<&net::close_send>,
    .closeRecv = entry<&net::close_recv>,
    .closeListen = entry<&net::close_listen>,
    .getMrKey = entry<&neuron::get_mr_key>,
    .iwrite = entry<&neuron::iwrite>,
    .iwriteInline = entry<&neuron::iwrite_inline>,
    .iread = entry<&neuron::iread>,
};

namespace {

[[gnu::constructor]] void choose_name() { ncclNetPlugin_v5.name = net::network_name(); }

}  // namespace
