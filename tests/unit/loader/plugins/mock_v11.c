/* A table whose init and finalize belong to one communicator (net contract 1.7). */
#include "common/abi/net_v11.h"
#include "mock_net.h"

#ifndef MOCK_DEVICE_TYPE
#define MOCK_DEVICE_TYPE NCCL_NET_DEVICE_HOST
#endif
#ifndef MOCK_NAME
#define MOCK_NAME "MockEleven"
#endif

static ncclResult_t init(void** ctx, uint64_t comm_id, ncclNetCommConfig_v11_t* config,
                         ncclDebugLogger_t logger, ncclProfilerCallback_t profiler) {
    if (config->trafficClass != NCCL_NET_TRAFFIC_CLASS_UNDEF || profiler == NULL)
        return ncclInvalidArgument;
    *ctx = (void*)(uintptr_t)(comm_id + 1000);
    return mock_init(logger);
}

static ncclResult_t finalize(void* ctx) {
    if (ctx == NULL) return ncclInvalidArgument;
    ++mock_state.finalizes;
    return ncclSuccess;
}

static ncclResult_t properties(int dev, ncclNetProperties_v11_t* props) {
    (void)dev;
    props->name = (char*)"mock0";
    props->netDeviceType = MOCK_DEVICE_TYPE;
    props->netDeviceVersion = 0;
    return ncclSuccess;
}

MOCK_EXPORT const ncclNet_v11_t ncclNetPlugin_v11 = {
    .name = MOCK_NAME,
    .init = init,
    .devices = mock_devices,
    .getProperties = properties,
    .finalize = finalize,
};
