/* Exports one table, of version MOCK_VERSION (13 or 16); the calls of data are empty. */
#include "tests/unit/loader/plugins/mock_rma_life.h"

#include <string.h>

#include "common/abi/rma_v13.h"
#include "common/abi/rma_v16.h"
#include "tests/unit/loader/plugins/mock_net.h"

#ifndef MOCK_NAME
#define MOCK_NAME "MockLife"
#endif
#ifndef MOCK_DEVICES
#define MOCK_DEVICES 2
#endif
#ifndef MOCK_DEVICE_TYPE
#define MOCK_DEVICE_TYPE NCCL_NET_DEVICE_GIN_PROXY
#endif
#ifndef MOCK_GOOD_INITS
#define MOCK_GOOD_INITS MOCK_MOST_INSTANCES
#endif

static struct mock_rma_state state;
static struct mock_rma_instance instances[MOCK_MOST_INSTANCES];

static const int good_inits = MOCK_GOOD_INITS;

static ncclResult_t life_init(void** ctx, uint64_t comm_id, ncclDebugLogger_t logger) {
    const int place = state.inits;
    if (place < 0 || place >= good_inits) return ncclSystemError;
    instances[place].state = &state;
    instances[place].number = place + 1;
    state.comm_ids[place] = comm_id;
    state.logger = logger;
    ++state.inits;
    *ctx = &instances[place];
    return ncclSuccess;
}

static ncclResult_t life_devices(int* count) {
    ++state.device_calls;
    *count = MOCK_DEVICES;
    return ncclSuccess;
}

static ncclResult_t life_properties(int device, ncclNetProperties_v12_t* properties) {
    (void)device;
    memset(properties, 0, sizeof *properties);
    properties->netDeviceType = MOCK_DEVICE_TYPE;
    return ncclSuccess;
}

static ncclResult_t life_finalize(void* ctx) {
    state.finalized[state.finalizes++] = ((struct mock_rma_instance*)ctx)->number;
    return ncclSuccess;
}

#if MOCK_VERSION == 13
#define MOCK_TABLE ncclRma_v13_t ncclRmaPlugin_v13
#else
#define MOCK_TABLE ncclRma_v16_t ncclRmaPlugin_v16
#endif

MOCK_EXPORT const MOCK_TABLE = {
    .name = MOCK_NAME,
    .init = life_init,
    .devices = life_devices,
    .getProperties = life_properties,
    .finalize = life_finalize,
};
