/* Structs that tables of several versions share; each table header gives them its own version's
 * name. Plain C99, compiles alone. Layout: net contract 2.3 and 2.4, rma contract 2.2 and 2.3. */
#ifndef DUOFI_ABI_SHARED_STRUCTS_H
#define DUOFI_ABI_SHARED_STRUCTS_H

#include "common/abi/host_types.h"

/* Net v7 to v12, RMA v13. */
typedef struct {
    int netDeviceType; /* ncclNetDeviceType */
    int netDeviceVersion;
    void* handle;
    size_t size;
    int needsProxyProgress;
} ncclNetDeviceHandle_v7_t;

/* Net v9 to v11. */
#define NCCL_NET_MAX_DEVS_PER_NIC_V9 4
typedef struct {
    int ndevs;
    int devs[NCCL_NET_MAX_DEVS_PER_NIC_V9];
} ncclNetVDeviceProps_v9_t;

/* Net v12, RMA v13 to v16. */
#define NCCL_NET_MAX_DEVS_PER_NIC_V12 8
typedef struct {
    int ndevs;
    int devs[NCCL_NET_MAX_DEVS_PER_NIC_V12];
} ncclNetVDeviceProps_v12_t;

/* Net v9 and v10. Written field by field: callers do not clear it. */
typedef struct {
    char* name;
    char* pciPath;
    uint64_t guid;
    int ptrSupport;
    int regIsGlobal;
    int forceFlush;
    int speed; /* Mbit/s */
    int port;
    float latency; /* us */
    int maxComms;
    int maxRecvs;
    ncclNetDeviceType netDeviceType;
    int netDeviceVersion;
    ncclNetVDeviceProps_v9_t vProps;
    size_t maxP2pBytes;
    size_t maxCollBytes;
} ncclNetProperties_v9_t;

/* Net v12 and every RMA version. Written field by field: callers do not clear it. */
typedef struct {
    char* name;
    char* pciPath;
    uint64_t guid;
    int ptrSupport;
    int regIsGlobal;
    int forceFlush;
    int speed; /* Mbit/s */
    int port;
    float latency; /* us */
    int maxComms;
    int maxRecvs;
    ncclNetDeviceType netDeviceType;
    int netDeviceVersion;
    ncclNetVDeviceProps_v12_t vProps;
    size_t maxP2pBytes;
    size_t maxCollBytes;
    int maxMultiRequestSize;
    int16_t railId;
    int16_t planeId;
} ncclNetProperties_v12_t;

/* Net v10: argument of connect, may be NULL. Net v11 and v12: argument of init. */
typedef struct {
    int trafficClass;
} ncclNetCommConfig_v10_t;

/* Net v11 and v12. */
typedef struct {
    int32_t maxConcurrentPeers;
    int32_t minConcurrentPeers;
    int32_t maxFlowsPerPeer;
    int32_t minFlowsPerPeer;
} ncclNetCommAttr_v11_t;

typedef struct {
    ncclNetCommAttr_v11_t sendCommAttr;
    ncclNetCommAttr_v11_t recvCommAttr;
    uint32_t op;
    uint32_t algo;
    uint32_t proto;
} ncclNetAttr_v11_t;

/* RMA v14 to v16. */
typedef struct {
    int nContexts;
    int trafficClass;
    int rankStride;
} ncclRmaConfig_v14_t;

#endif
