/* All headers in one C program, which fills tables and calls through them: by name, and by fixed
 * byte offset as the Neuron caller does (net contract 1.6). Prints the first difference and ends
 * with 1. */
#include <stdio.h>
#include <string.h>

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

#define EXPECT(condition)                                  \
    do {                                                   \
        if (!(condition)) {                                \
            printf("line %d: %s\n", __LINE__, #condition); \
            return 1;                                      \
        }                                                  \
    } while (0)

static int initialised, finalised, lines_logged;

static void logger(ncclDebugLogLevel level, unsigned long flags, const char* file, int line,
                   const char* fmt, ...) {
    (void)file, (void)line, (void)fmt;
    if (level == NCCL_LOG_INFO && flags == (NCCL_INIT | NCCL_NET)) ++lines_logged;
}

static ncclResult_t init(ncclDebugLogger_t log) {
    ++initialised;
    log(NCCL_LOG_INFO, NCCL_INIT | NCCL_NET, __FILE__, __LINE__, "%s", "hello");
    return ncclSuccess;
}
static ncclResult_t fini(void) {
    ++finalised;
    return ncclInProgress;
}
static ncclResult_t devices(int* ndev) {
    *ndev = 3;
    return ncclSuccess;
}
static ncclResult_t properties_v6(int dev, ncclNetProperties_v6_t* props) {
    memset(props, 0, sizeof *props);
    props->speed = 100000 + dev;
    props->maxRecvs = NCCL_NET_MAX_RECVS;
    return ncclSuccess;
}
static ncclResult_t properties_v12(int dev, ncclNetProperties_v12_t* props) {
    memset(props, 0, sizeof *props);
    props->vProps.ndevs = 1;
    props->vProps.devs[0] = dev;
    props->railId = props->planeId = NCCL_NET_ID_UNDEF;
    return ncclSuccess;
}
static ncclResult_t isend(void* comm, void* data, size_t size, int tag, void* mhandle,
                          void* phandle, void** request) {
    (void)comm, (void)tag, (void)mhandle, (void)phandle;
    *request = (char*)data + size;
    return ncclSuccess;
}
static ncclResult_t set_attributes(void* ctx, ncclNetAttr_v12_t* attributes) {
    return ctx != NULL && attributes->proto == 9 ? ncclSuccess : ncclInvalidArgument;
}
static ncclResult_t put_signal(void* ctx, int context, uint64_t src_off, void* src, size_t size,
                               uint64_t dst_off, void* dst, uint32_t rank, uint64_t signal_off,
                               void* signal, uint64_t value, uint32_t op, bool strong,
                               uint32_t flags, void** request) {
    (void)ctx, (void)context, (void)src_off, (void)src, (void)dst_off, (void)dst, (void)signal_off;
    (void)signal;
    *request = NULL;
    if (size != 64 || rank != 2 || value != 5) return ncclInvalidArgument;
    if (op != NCCL_NET_SIGNAL_OP_ADD || !strong) return ncclInvalidUsage;
    return flags == NCCL_RMA_OPT_FLAGS_AGGREGATE_REQUESTS ? ncclSuccess : ncclTimeout;
}
static ncclResult_t rma_properties(void* comm, ncclRmaProperties_v16_t* props) {
    (void)comm;
    props->flushesAllPutsOnAnySignal = false;
    return ncclSuccess;
}

static int call_canonical(void) {
    ncclNet_v6_t v6;
    ncclNet_v12_t v12;
    ncclNetProperties_v6_t p6;
    ncclNetProperties_v12_t p12;
    ncclNetAttr_v12_t attributes;
    char data[8];
    void* request = NULL;
    memset(&v6, 0, sizeof v6);
    memset(&v12, 0, sizeof v12);
    memset(&attributes, 0, sizeof attributes);
    v6.init = init;
    v6.getProperties = properties_v6;
    v12.getProperties = properties_v12;
    v12.isend = isend;
    v12.setNetAttr = set_attributes;
    attributes.proto = 9;
    EXPECT(v6.init(logger) == ncclSuccess && lines_logged == 1);
    EXPECT(v6.getProperties(2, &p6) == ncclSuccess && p6.speed == 100002 && p6.maxRecvs == 8);
    EXPECT(v12.getProperties(4, &p12) == ncclSuccess && p12.vProps.devs[0] == 4);
    EXPECT(p12.railId == -1 && p12.planeId == -1);
    EXPECT(v12.isend(NULL, data, 5, 0, NULL, NULL, &request) == ncclSuccess);
    EXPECT(request == data + 5);
    EXPECT(v12.setNetAttr(data, &attributes) == ncclSuccess);
    EXPECT(v12.setNetAttr(NULL, &attributes) == ncclInvalidArgument);
    return 0;
}

/* The caller knows only byte offsets: init at 8, fini at 16, devices at 24. */
static int call_neuron_by_offset(void) {
    ncclNet_neuron_v6_t table;
    ncclResult_t (*init_at)(ncclDebugLogger_t);
    ncclResult_t (*fini_at)(void);
    ncclResult_t (*devices_at)(int*);
    int count = 0;
    memset(&table, 0, sizeof table);
    table.init = init;
    table.fini = fini;
    table.devices = devices;
    memcpy(&init_at, (const char*)&table + 8, sizeof init_at);
    memcpy(&fini_at, (const char*)&table + 16, sizeof fini_at);
    memcpy(&devices_at, (const char*)&table + 24, sizeof devices_at);
    EXPECT(init_at(logger) == ncclSuccess && initialised == 2);
    EXPECT(devices_at(&count) == ncclSuccess && count == 3);
    EXPECT(fini_at() == ncclInProgress && finalised == 1);
    return 0;
}

static int call_rma(void) {
    ncclRma_v15_t v15;
    ncclRma_v16_t v16;
    ncclRmaProperties_v16_t props = {true};
    void* request = &props;
    memset(&v15, 0, sizeof v15);
    memset(&v16, 0, sizeof v16);
    v15.iputSignal = v16.iputSignal = put_signal;
    v16.getRmaProperties = rma_properties;
    EXPECT(v16.getRmaProperties(NULL, &props) == ncclSuccess && !props.flushesAllPutsOnAnySignal);
    EXPECT(v15.iputSignal(NULL, 0, 1, NULL, 64, 2, NULL, 2, 3, NULL, 5, NCCL_NET_SIGNAL_OP_ADD,
                          true, NCCL_RMA_OPT_FLAGS_AGGREGATE_REQUESTS, &request) == ncclSuccess);
    EXPECT(request == NULL);
    EXPECT(v16.iputSignal(NULL, 0, 1, NULL, 64, 2, NULL, 2, 3, NULL, 5, NCCL_NET_SIGNAL_OP_INC,
                          true, 0, &request) == ncclInvalidUsage);
    return 0;
}

int main(void) {
    if (call_canonical() != 0 || call_neuron_by_offset() != 0 || call_rma() != 0) return 1;
    printf("tables called\n");
    return 0;
}
