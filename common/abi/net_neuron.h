/* ncclNetPlugin_v4, _v5 and _v6 as the Neuron caller lays them out: 128, 168 and 176 bytes (net
 * contract 1.5, 2.2, 2.3). That caller uses the plain names ncclNet_v4_t ..; ours carry "neuron"
 * because its v6 clashes with the canonical one. regMr takes size_t in all three. Plain C99. */
#ifndef DUOFI_ABI_NET_NEURON_H
#define DUOFI_ABI_NET_NEURON_H

#include "common/abi/host_types.h"

typedef struct {
    char* name;
    char* pciPath;
    uint64_t guid;
    int ptrSupport;
    int speed; /* Mbit/s */
    int port;
    int maxComms;
} ncclNetProperties_neuron_v4_t;

typedef struct {
    char* name;
    char* pciPath;
    uint64_t guid;
    int ptrSupport;
    int regIsGlobal;
    int speed; /* Mbit/s */
    int port;
    float latency; /* us */
    int maxComms;
    int maxRecvs;
    size_t max_write_inline_size; /* bytes */
    size_t max_mr_key_size;       /* bytes */
    int rma_supported;
} ncclNetProperties_neuron_v6_t;
typedef ncclNetProperties_neuron_v6_t ncclNetProperties_neuron_v5_t;

/* Handle of 64 bytes; connect and accept return only with a comm. */
typedef struct {
    const char* name;
    ncclResult_t (*init)(ncclDebugLogger_t logFunction);
    ncclResult_t (*devices)(int* ndev);
    ncclResult_t (*getProperties)(int dev, ncclNetProperties_neuron_v4_t* props);
    ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
    ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
    ncclResult_t (*accept)(void* listenComm, void** recvComm);
    ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
    ncclResult_t (*deregMr)(void* comm, void* mhandle);
    ncclResult_t (*isend)(void* sendComm, void* data, int size, void* mhandle, void** request);
    ncclResult_t (*irecv)(void* recvComm, void* data, int size, void* mhandle, void** request);
    ncclResult_t (*iflush)(void* recvComm, void* data, int size, void* mhandle, void** request);
    ncclResult_t (*test)(void* request, int* done, int* size);
    ncclResult_t (*closeSend)(void* sendComm);
    ncclResult_t (*closeRecv)(void* recvComm);
    ncclResult_t (*closeListen)(void* listenComm);
} ncclNet_neuron_v4_t;

typedef struct {
    const char* name;
    ncclResult_t (*init)(ncclDebugLogger_t logFunction);
    ncclResult_t (*devices)(int* ndev);
    ncclResult_t (*getProperties)(int dev, ncclNetProperties_neuron_v5_t* props);
    ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
    ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
    ncclResult_t (*accept)(void* listenComm, void** recvComm);
    ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
    ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                int fd, void** mhandle);
    ncclResult_t (*deregMr)(void* comm, void* mhandle);
    ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle,
                          void** request);
    ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags,
                          void** mhandles, void** request);
    ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,
                           void** request);
    ncclResult_t (*test)(void* request, int* done, int* sizes);
    ncclResult_t (*closeSend)(void* sendComm);
    ncclResult_t (*closeRecv)(void* recvComm);
    ncclResult_t (*closeListen)(void* listenComm);
    ncclResult_t (*getMrKey)(void* mhandle, uint64_t* mr_key);
    ncclResult_t (*iwrite)(void* sendComm, void* src, size_t size, void* mhandle, uint64_t dest,
                           uint64_t mr_key, void** request);
    ncclResult_t (*iwriteInline)(void* sendComm, void* src, size_t size, uint64_t dest,
                                 uint64_t mr_key, void** request);
    ncclResult_t (*iread)(void* recvComm, void* dest, size_t size, void* mhandle, uint64_t src,
                          uint64_t mr_key, void** request);
} ncclNet_neuron_v5_t;

/* v5 with fini at index 2. */
typedef struct {
    const char* name;
    ncclResult_t (*init)(ncclDebugLogger_t logFunction);
    ncclResult_t (*fini)(void);
    ncclResult_t (*devices)(int* ndev);
    ncclResult_t (*getProperties)(int dev, ncclNetProperties_neuron_v6_t* props);
    ncclResult_t (*listen)(int dev, void* handle, void** listenComm);
    ncclResult_t (*connect)(int dev, void* handle, void** sendComm);
    ncclResult_t (*accept)(void* listenComm, void** recvComm);
    ncclResult_t (*regMr)(void* comm, void* data, size_t size, int type, void** mhandle);
    ncclResult_t (*regMrDmaBuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                int fd, void** mhandle);
    ncclResult_t (*deregMr)(void* comm, void* mhandle);
    ncclResult_t (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle,
                          void** request);
    ncclResult_t (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags,
                          void** mhandles, void** request);
    ncclResult_t (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles,
                           void** request);
    ncclResult_t (*test)(void* request, int* done, int* sizes);
    ncclResult_t (*closeSend)(void* sendComm);
    ncclResult_t (*closeRecv)(void* recvComm);
    ncclResult_t (*closeListen)(void* listenComm);
    ncclResult_t (*getMrKey)(void* mhandle, uint64_t* mr_key);
    ncclResult_t (*iwrite)(void* sendComm, void* src, size_t size, void* mhandle, uint64_t dest,
                           uint64_t mr_key, void** request);
    ncclResult_t (*iwriteInline)(void* sendComm, void* src, size_t size, uint64_t dest,
                                 uint64_t mr_key, void** request);
    ncclResult_t (*iread)(void* recvComm, void* dest, size_t size, void* mhandle, uint64_t src,
                          uint64_t mr_key, void** request);
} ncclNet_neuron_v6_t;

#endif
