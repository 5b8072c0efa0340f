/* RMA modules with a life: init, devices, properties and finalize work and are counted. Everything
 * is reached through the instance that init gives out. One thread. */
#ifndef DUOFI_MOCK_RMA_LIFE_H
#define DUOFI_MOCK_RMA_LIFE_H

#include "common/abi/host_types.h"

#define MOCK_MOST_INSTANCES 64

struct mock_rma_state {
    int inits;
    int device_calls;
    int finalizes;
    int finalized[MOCK_MOST_INSTANCES]; /* numbers, in order */
    uint64_t comm_ids[MOCK_MOST_INSTANCES];
    ncclDebugLogger_t logger;
};

/* What *ctx points to. */
struct mock_rma_instance {
    struct mock_rma_state* state;
    int number; /* from 1 on */
};

#endif
