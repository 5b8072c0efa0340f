// Compile-time proof that every struct lies where the callers look for it: sizes and offsets as
// listed in net contract 1.5 and 2.2-2.4 and rma contract 2.2-2.7, typed in here a second time, as
// plain numbers.
#include <cstddef>
#include <type_traits>

#include "common/abi/layout.hpp"
#include "common/abi/net_neuron.h"
#include "common/abi/net_v10.h"
#include "common/abi/net_v11.h"
#include "common/abi/net_v12.h"
#include "common/abi/net_v6.h"
#include "common/abi/net_v7.h"
#include "common/abi/net_v8.h"
#include "common/abi/net_v9.h"
#include "common/abi/rma_v13.h"
#include "common/abi/rma_v14.h"
#include "common/abi/rma_v15.h"
#include "common/abi/rma_v16.h"

namespace {
using duofi::abi::layout::in_place;

// clang-format off
// Tables (net contract 2.2, rma contract 2.4-2.7).
namespace net_neuron_v4_at {
using T = ncclNet_neuron_v4_t;
static_assert(sizeof(T) == 128 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(deregMr, 64), AT(isend, 72), AT(irecv, 80),
    AT(iflush, 88), AT(test, 96), AT(closeSend, 104), AT(closeRecv, 112), AT(closeListen, 120)}));
}
namespace net_neuron_v5_at {
using T = ncclNet_neuron_v5_t;
static_assert(sizeof(T) == 168 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(regMrDmaBuf, 64), AT(deregMr, 72),
    AT(isend, 80), AT(irecv, 88), AT(iflush, 96), AT(test, 104), AT(closeSend, 112),
    AT(closeRecv, 120), AT(closeListen, 128), AT(getMrKey, 136), AT(iwrite, 144),
    AT(iwriteInline, 152), AT(iread, 160)}));
}
namespace net_neuron_v6_at {
using T = ncclNet_neuron_v6_t;
static_assert(
    sizeof(T) == 176 &&
    in_place({AT(name, 0),           AT(init, 8),          AT(fini, 16),      AT(devices, 24),
              AT(getProperties, 32), AT(listen, 40),       AT(connect, 48),   AT(accept, 56),
              AT(regMr, 64),         AT(regMrDmaBuf, 72),  AT(deregMr, 80),   AT(isend, 88),
              AT(irecv, 96),         AT(iflush, 104),      AT(test, 112),     AT(closeSend, 120),
              AT(closeRecv, 128),    AT(closeListen, 136), AT(getMrKey, 144), AT(iwrite, 152),
              AT(iwriteInline, 160), AT(iread, 168)}));
}
namespace net_v6_at {
using T = ncclNet_v6_t;
static_assert(sizeof(T) == 136 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(regMrDmaBuf, 64), AT(deregMr, 72),
    AT(isend, 80), AT(irecv, 88), AT(iflush, 96), AT(test, 104), AT(closeSend, 112),
    AT(closeRecv, 120), AT(closeListen, 128)}));
}
namespace net_v7_at {
using T = ncclNet_v7_t;
static_assert(sizeof(T) == 152 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(regMrDmaBuf, 64), AT(deregMr, 72),
    AT(isend, 80), AT(irecv, 88), AT(iflush, 96), AT(test, 104), AT(closeSend, 112),
    AT(closeRecv, 120), AT(closeListen, 128), AT(getDeviceMr, 136), AT(irecvConsumed, 144)}));
}
namespace net_v8_at {
using T = ncclNet_v8_t;
static_assert(sizeof(T) == 152 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(regMrDmaBuf, 64), AT(deregMr, 72),
    AT(isend, 80), AT(irecv, 88), AT(iflush, 96), AT(test, 104), AT(closeSend, 112),
    AT(closeRecv, 120), AT(closeListen, 128), AT(getDeviceMr, 136), AT(irecvConsumed, 144)}));
}
namespace net_v9_at {
using T = ncclNet_v9_t;
static_assert(sizeof(T) == 160 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(regMrDmaBuf, 64), AT(deregMr, 72),
    AT(isend, 80), AT(irecv, 88), AT(iflush, 96), AT(test, 104), AT(closeSend, 112),
    AT(closeRecv, 120), AT(closeListen, 128), AT(getDeviceMr, 136), AT(irecvConsumed, 144),
    AT(makeVDevice, 152)}));
}
namespace net_v10_at {
using T = ncclNet_v10_t;
static_assert(sizeof(T) == 160 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(accept, 48), AT(regMr, 56), AT(regMrDmaBuf, 64), AT(deregMr, 72),
    AT(isend, 80), AT(irecv, 88), AT(iflush, 96), AT(test, 104), AT(closeSend, 112),
    AT(closeRecv, 120), AT(closeListen, 128), AT(getDeviceMr, 136), AT(irecvConsumed, 144),
    AT(makeVDevice, 152)}));
}
namespace net_v11_at {
using T = ncclNet_v11_t;
static_assert(
    sizeof(T) == 176 &&
    in_place(
        {AT(name, 0),          AT(init, 8),          AT(devices, 16),        AT(getProperties, 24),
         AT(listen, 32),       AT(connect, 40),      AT(accept, 48),         AT(regMr, 56),
         AT(regMrDmaBuf, 64),  AT(deregMr, 72),      AT(isend, 80),          AT(irecv, 88),
         AT(iflush, 96),       AT(test, 104),        AT(closeSend, 112),     AT(closeRecv, 120),
         AT(closeListen, 128), AT(getDeviceMr, 136), AT(irecvConsumed, 144), AT(makeVDevice, 152),
         AT(finalize, 160),    AT(setNetAttr, 168)}));
}
namespace net_v12_at {
using T = ncclNet_v12_t;
static_assert(
    sizeof(T) == 176 &&
    in_place(
        {AT(name, 0),          AT(init, 8),          AT(devices, 16),        AT(getProperties, 24),
         AT(listen, 32),       AT(connect, 40),      AT(accept, 48),         AT(regMr, 56),
         AT(regMrDmaBuf, 64),  AT(deregMr, 72),      AT(isend, 80),          AT(irecv, 88),
         AT(iflush, 96),       AT(test, 104),        AT(closeSend, 112),     AT(closeRecv, 120),
         AT(closeListen, 128), AT(getDeviceMr, 136), AT(irecvConsumed, 144), AT(makeVDevice, 152),
         AT(finalize, 160),    AT(setNetAttr, 168)}));
}
namespace rma_v13_at {
using T = ncclRma_v13_t;
static_assert(sizeof(T) == 168 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(createContext, 48), AT(regMrSym, 56), AT(regMrSymDmaBuf, 64),
    AT(deregMrSym, 72), AT(destroyContext, 80), AT(closeColl, 88), AT(closeListen, 96),
    AT(iput, 104), AT(iputSignal, 112), AT(iget, 120), AT(iflush, 128), AT(test, 136),
    AT(ginProgress, 144), AT(queryLastError, 152), AT(finalize, 160)}));
}
namespace rma_v14_at {
using T = ncclRma_v14_t;
static_assert(sizeof(T) == 168 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(createContext, 48), AT(regMrSym, 56), AT(regMrSymDmaBuf, 64),
    AT(deregMrSym, 72), AT(destroyContext, 80), AT(closeColl, 88), AT(closeListen, 96),
    AT(iput, 104), AT(iputSignal, 112), AT(iget, 120), AT(iflush, 128), AT(test, 136),
    AT(rmaProgress, 144), AT(queryLastError, 152), AT(finalize, 160)}));
}
namespace rma_v15_at {
using T = ncclRma_v15_t;
static_assert(sizeof(T) == 168 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getProperties, 24), AT(listen, 32),
    AT(connect, 40), AT(createContext, 48), AT(regMrSym, 56), AT(regMrSymDmaBuf, 64),
    AT(deregMrSym, 72), AT(destroyContext, 80), AT(closeColl, 88), AT(closeListen, 96),
    AT(iput, 104), AT(iputSignal, 112), AT(iget, 120), AT(iflush, 128), AT(test, 136),
    AT(rmaProgress, 144), AT(queryLastError, 152), AT(finalize, 160)}));
}
namespace rma_v16_at {
using T = ncclRma_v16_t;
static_assert(sizeof(T) == 176 && in_place({
    AT(name, 0), AT(init, 8), AT(devices, 16), AT(getRmaProperties, 24), AT(getProperties, 32),
    AT(listen, 40), AT(connect, 48), AT(createContext, 56), AT(regMrSym, 64),
    AT(regMrSymDmaBuf, 72), AT(deregMrSym, 80), AT(destroyContext, 88), AT(closeColl, 96),
    AT(closeListen, 104), AT(iput, 112), AT(iputSignal, 120), AT(iget, 128), AT(iflush, 136),
    AT(test, 144), AT(rmaProgress, 152), AT(queryLastError, 160), AT(finalize, 168)}));
}

// Properties (net contract 2.3, rma contract 2.2).
namespace netproperties_neuron_v4_at {
using T = ncclNetProperties_neuron_v4_t;
static_assert(sizeof(T) == 40 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(speed, 28), AT(port, 32),
    AT(maxComms, 36)}));
}
namespace netproperties_neuron_v6_at {
using T = ncclNetProperties_neuron_v6_t;
static_assert(sizeof(T) == 80 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(regIsGlobal, 28),
    AT(speed, 32), AT(port, 36), AT(latency, 40), AT(maxComms, 44), AT(maxRecvs, 48),
    AT(max_write_inline_size, 56), AT(max_mr_key_size, 64), AT(rma_supported, 72)}));
}
namespace netproperties_v6_at {
using T = ncclNetProperties_v6_t;
static_assert(sizeof(T) == 48 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(speed, 28), AT(port, 32),
    AT(latency, 36), AT(maxComms, 40), AT(maxRecvs, 44)}));
}
namespace netproperties_v7_at {
using T = ncclNetProperties_v7_t;
static_assert(sizeof(T) == 56 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(speed, 28), AT(port, 32),
    AT(latency, 36), AT(maxComms, 40), AT(maxRecvs, 44), AT(netDeviceType, 48),
    AT(netDeviceVersion, 52)}));
}
namespace netproperties_v8_at {
using T = ncclNetProperties_v8_t;
static_assert(sizeof(T) == 64 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(regIsGlobal, 28),
    AT(speed, 32), AT(port, 36), AT(latency, 40), AT(maxComms, 44), AT(maxRecvs, 48),
    AT(netDeviceType, 52), AT(netDeviceVersion, 56)}));
}
namespace netproperties_v9_at {
using T = ncclNetProperties_v9_t;
static_assert(sizeof(T) == 104 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(regIsGlobal, 28),
    AT(forceFlush, 32), AT(speed, 36), AT(port, 40), AT(latency, 44), AT(maxComms, 48),
    AT(maxRecvs, 52), AT(netDeviceType, 56), AT(netDeviceVersion, 60), AT(vProps, 64),
    AT(maxP2pBytes, 88), AT(maxCollBytes, 96)}));
}
namespace netproperties_v11_at {
using T = ncclNetProperties_v11_t;
static_assert(sizeof(T) == 112 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(regIsGlobal, 28),
    AT(forceFlush, 32), AT(speed, 36), AT(port, 40), AT(latency, 44), AT(maxComms, 48),
    AT(maxRecvs, 52), AT(netDeviceType, 56), AT(netDeviceVersion, 60), AT(vProps, 64),
    AT(maxP2pBytes, 88), AT(maxCollBytes, 96), AT(maxMultiRequestSize, 104)}));
}
namespace netproperties_v12_at {
using T = ncclNetProperties_v12_t;
static_assert(sizeof(T) == 128 && in_place({
    AT(name, 0), AT(pciPath, 8), AT(guid, 16), AT(ptrSupport, 24), AT(regIsGlobal, 28),
    AT(forceFlush, 32), AT(speed, 36), AT(port, 40), AT(latency, 44), AT(maxComms, 48),
    AT(maxRecvs, 52), AT(netDeviceType, 56), AT(netDeviceVersion, 60), AT(vProps, 64),
    AT(maxP2pBytes, 104), AT(maxCollBytes, 112), AT(maxMultiRequestSize, 120), AT(railId, 124),
    AT(planeId, 126)}));
}

// Handles, configs, attributes (net contract 2.4, rma contract 2.3).
namespace netdevicehandle_v7_at {
using T = ncclNetDeviceHandle_v7_t;
static_assert(sizeof(T) == 32 && in_place({
    AT(netDeviceType, 0), AT(netDeviceVersion, 4), AT(handle, 8), AT(size, 16),
    AT(needsProxyProgress, 24)}));
}
namespace netvdeviceprops_v9_at {
using T = ncclNetVDeviceProps_v9_t;
static_assert(sizeof(T) == 20 && in_place({
    AT(ndevs, 0), AT(devs, 4)}));
}
namespace netvdeviceprops_v12_at {
using T = ncclNetVDeviceProps_v12_t;
static_assert(sizeof(T) == 36 && in_place({
    AT(ndevs, 0), AT(devs, 4)}));
}
namespace netcommconfig_v10_at {
using T = ncclNetCommConfig_v10_t;
static_assert(sizeof(T) == 4 && in_place({
    AT(trafficClass, 0)}));
}
namespace netcommattr_v11_at {
using T = ncclNetCommAttr_v11_t;
static_assert(sizeof(T) == 16 && in_place({
    AT(maxConcurrentPeers, 0), AT(minConcurrentPeers, 4), AT(maxFlowsPerPeer, 8),
    AT(minFlowsPerPeer, 12)}));
}
namespace netattr_v11_at {
using T = ncclNetAttr_v11_t;
static_assert(sizeof(T) == 44 && in_place({
    AT(sendCommAttr, 0), AT(recvCommAttr, 16), AT(op, 32), AT(algo, 36), AT(proto, 40)}));
}
namespace ginconfig_v13_at {
using T = ncclGinConfig_v13_t;
static_assert(sizeof(T) == 20 && in_place({
    AT(nSignals, 0), AT(nCounters, 4), AT(nContexts, 8), AT(queueDepth, 12), AT(trafficClass, 16)}));
}
namespace rmaconfig_v14_at {
using T = ncclRmaConfig_v14_t;
static_assert(sizeof(T) == 12 && in_place({
    AT(nContexts, 0), AT(trafficClass, 4), AT(rankStride, 8)}));
}
namespace rmaproperties_v16_at {
using T = ncclRmaProperties_v16_t;
static_assert(sizeof(T) == 1 && in_place({
    AT(flushesAllPutsOnAnySignal, 0)}));
}
// clang-format on

// Several names of one layout.
template <typename First, typename... Others>
inline constexpr bool same = (std::is_same_v<First, Others> && ...);
static_assert(same<ncclNetProperties_neuron_v6_t, ncclNetProperties_neuron_v5_t>);
static_assert(same<ncclNetProperties_v9_t, ncclNetProperties_v10_t>);
static_assert(
    same<ncclNetDeviceHandle_v7_t, ncclNetDeviceHandle_v8_t, ncclNetDeviceHandle_v9_t,
         ncclNetDeviceHandle_v10_t, ncclNetDeviceHandle_v11_t, ncclNetDeviceHandle_v12_t>);
static_assert(same<ncclNetVDeviceProps_v9_t, ncclNetVDeviceProps_v10_t, ncclNetVDeviceProps_v11_t>);
static_assert(same<ncclNetCommConfig_v10_t, ncclNetCommConfig_v11_t, ncclNetCommConfig_v12_t>);
static_assert(same<ncclNetCommAttr_v11_t, ncclNetCommAttr_v12_t>);
static_assert(same<ncclNetAttr_v11_t, ncclNetAttr_v12_t>);
static_assert(same<ncclRmaConfig_v14_t, ncclRmaConfig_v15_t, ncclRmaConfig_v16_t>);

// Enumerations travel as int, bool is one byte (rma contract 2.1, 2.3).
static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclDebugLogLevel) == 4);
static_assert(sizeof(ncclNetDeviceType) == 4 && sizeof(bool) == 1 && sizeof(void*) == 8);
static_assert(alignof(ncclNetProperties_v12_t) == 8);

}  // namespace
