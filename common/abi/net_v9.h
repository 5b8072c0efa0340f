/* ncclNetPlugin_v9 of NCCL and RCCL: 20 slots, 160 bytes (net contract 2.2-2.4). Plain C99. */
#ifndef DUOFI_ABI_NET_V9_H
#define DUOFI_ABI_NET_V9_H

#include "common/abi/shared_structs.h"

typedef ncclNetDeviceHandle_v7_t ncclNetDeviceHandle_v9_t;

typedef struct {
    const char* name;
    ncclResult_t (*init)(ncclDebugLogger_t logFunction);
    ncclResult_t (*devices)(int* ndev);
    ncclResult_t (*getProperties)(int dev, ncclNetProperties_v9_t* props);
    ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
    ncclResult_t (*connect)(int dev, void* handle, void** sendComm,
                            ncclNetDeviceHandle_v9_t** sendDevComm);
    ncclResult_t (*accept)(void* listenComm, void** recvComm,
                           ncclNetDeviceHandle_v9_t** recvDevComm);
    ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
    ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                int fd, void** mhandle);
    ncclResult_t (*deregMr)(void* comm, void* mhandle);
    ncclResult_t (*isend)(void* sendComm, void* data, size_t size, int tag, void* mhandle,
                          void** request);
    ncclResult_t (*irecv)(void* recvComm, int n, void** data, size_t* sizes, int* tags,
                          void** mhandles, void** request);
    ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,
                           void** request);
    ncclResult_t (*test)(void* request, int* done, int* sizes);
    ncclResult_t (*closeSend)(void* sendComm);
    ncclResult_t (*closeRecv)(void* recvComm);
    ncclResult_t (*closeListen)(void* listenComm);
    ncclResult_t (*getDeviceMr)(void* comm, void* mhandle, void** dptrMhandle); /* may be NULL */
    ncclResult_t (*irecvConsumed)(void* recvComm, int n, void* request);        /* may be NULL */
    ncclResult_t (*makeVDevice)(int* dev, ncclNetVDeviceProps_v9_t* props);     /* may be NULL */
} ncclNet_v9_t;

#endif
