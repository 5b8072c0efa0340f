/* Collectives between the ranks of one server over shared memory. Plain C99.
 * A communicator is used by one thread at a time, except duofiP2pCommAbort and duofiP2pCommGetAsyncError: any thread.
 * All calls block. Collectives must be called by all ranks in the same order with the same counts and types.
 * Results: ncclSuccess, or the reason in duofiP2pGetLastError(). */
#ifndef DUOFI_P2P_P2P_H
#define DUOFI_P2P_P2P_H

#include "common/abi/host_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DUOFI_P2P_API __attribute__((visibility("default")))

typedef struct duofiP2pComm duofiP2pComm;

/* How ranks exchange blocks during set-up. `context` is handed back to every function and must outlive the
 * communicators made with it. Each call waits at most `timeoutMs`, then returns ncclTimeout; a recv that did so may be
 * called again. recv stores at most `capacity` bytes and always reports the true size. ncclRemoteError: a rank is gone.
 * Messages between two ranks keep their order, and a send of up to 8 KiB does not wait for its receiver. */
typedef struct {
    int version; /* DUOFI_P2P_BOOTSTRAP_VERSION */
    int rank;
    int size;
    void* context;
    ncclResult_t (*allGather)(void* context, const void* mine, void* all, size_t bytesPerRank, const char* name,
                              int timeoutMs);
    ncclResult_t (*send)(void* context, int peer, unsigned type, const void* data, size_t bytes, const char* name,
                         int timeoutMs);
    ncclResult_t (*recv)(void* context, int peer, unsigned* type, void* data, size_t capacity, size_t* bytes,
                         const char* name, int timeoutMs);
} duofiP2pBootstrap;

#define DUOFI_P2P_BOOTSTRAP_VERSION 1
#define DUOFI_P2P_MAX_MESSAGE 65536 /* capacity that recv is called with */

/* Ready-made: over TCP, rank 0 serves at host:port (numeric port, the same on all ranks). */
DUOFI_P2P_API ncclResult_t duofiP2pBootstrapTcp(const char* host, int port, int rank, int size, int timeoutMs,
                                                duofiP2pBootstrap* bootstrap);
/* Ready-made: the ranks are `size` threads of this process; fills bootstraps[0..size-1]. */
DUOFI_P2P_API ncclResult_t duofiP2pBootstrapThreads(int size, duofiP2pBootstrap* bootstraps);
/* Frees a ready-made one, after the communicators made with it. Rank 0 of a TCP one waits up to 10 s for the others. */
DUOFI_P2P_API ncclResult_t duofiP2pBootstrapFree(duofiP2pBootstrap* bootstrap);

/* Fill with duofiP2pConfigInit, then change. */
typedef struct {
    int version;
    int channels;             /* 1..32; parallel paths between two ranks */
    int device;               /* index of the device, 0 without devices */
    long long buffSize[3];    /* bytes: LL, LL128, SIMPLE; 0 = NCCL_*BUFFSIZE or the default */
    int timeoutMs;            /* of every wait of set-up and tear-down; below 0 is refused, 0 = DUOFI_CONNECT_TIMEOUT */
    ncclDebugLogger_t logger; /* NULL: keeps the logger in force; one logger per process */
} duofiP2pConfig;

#define DUOFI_P2P_CONFIG_VERSION 1

DUOFI_P2P_API ncclResult_t duofiP2pConfigInit(duofiP2pConfig* config);

/* Every rank calls it, with the same channels and NCCL_PROTO. Nothing is connected yet. `config` may be NULL. *comm is
 * NULL after a failure. A bootstrap serves one communicator after the other until one of them is aborted. */
DUOFI_P2P_API ncclResult_t duofiP2pCommCreate(duofiP2pComm** comm, const duofiP2pBootstrap* bootstrap,
                                              const duofiP2pConfig* config);
/* Waits for the other ranks (teardown barrier), then frees. After an abort it does not wait. */
DUOFI_P2P_API ncclResult_t duofiP2pCommDestroy(duofiP2pComm* comm);
/* Makes every call that waits inside the communicator return with an error, in this rank only. The communicator can
 * then only be destroyed. */
DUOFI_P2P_API ncclResult_t duofiP2pCommAbort(duofiP2pComm* comm);

DUOFI_P2P_API ncclResult_t duofiP2pCommRank(const duofiP2pComm* comm, int* rank);
DUOFI_P2P_API ncclResult_t duofiP2pCommSize(const duofiP2pComm* comm, int* size);
/* ncclSuccess while healthy; ncclRemoteError and the first dead rank once a rank of this node has died (-1: none). */
DUOFI_P2P_API ncclResult_t duofiP2pCommGetAsyncError(const duofiP2pComm* comm, ncclResult_t* error, int* deadRank);
/* Text of the last failure of the communicator, or with NULL of the calling thread. Valid until the next call. */
DUOFI_P2P_API const char* duofiP2pGetLastError(const duofiP2pComm* comm);
DUOFI_P2P_API const char* duofiP2pVersion(void);

/* Connecting: every rank calls the same one. Collectives connect what they need by themselves. */
DUOFI_P2P_API ncclResult_t duofiP2pConnectRing(duofiP2pComm* comm);
DUOFI_P2P_API ncclResult_t duofiP2pConnectAll(duofiP2pComm* comm);
/* Which transport carries data to `peer`: "P2P/direct pointer", "P2P/IPC", "P2P/indirect", "" before connecting. */
DUOFI_P2P_API ncclResult_t duofiP2pEdge(const duofiP2pComm* comm, int peer, const char** text);

/* Memory of the runtime, zero-filled; needs a communicator of this process. */
DUOFI_P2P_API ncclResult_t duofiP2pMemAlloc(void** memory, size_t bytes);
DUOFI_P2P_API ncclResult_t duofiP2pMemFree(void* memory);

typedef enum {
    duofiP2pUint8 = 1,
    duofiP2pInt32 = 2,
    duofiP2pInt64 = 4,
    duofiP2pFloat32 = 7,
    duofiP2pFloat64 = 8
} duofiP2pDataType; /* values of the callers' data types */

typedef enum { duofiP2pSum = 0, duofiP2pMax = 2, duofiP2pMin = 3 } duofiP2pRedOp;

DUOFI_P2P_API ncclResult_t duofiP2pAllReduce(const void* send, void* recv, size_t count, duofiP2pDataType type,
                                             duofiP2pRedOp op, duofiP2pComm* comm);
/* `count` elements from every rank; recv holds size * count. */
DUOFI_P2P_API ncclResult_t duofiP2pAllGather(const void* send, void* recv, size_t count, duofiP2pDataType type,
                                             duofiP2pComm* comm);
/* send holds size * count elements, recv `count`. */
DUOFI_P2P_API ncclResult_t duofiP2pReduceScatter(const void* send, void* recv, size_t count, duofiP2pDataType type,
                                                 duofiP2pRedOp op, duofiP2pComm* comm);
DUOFI_P2P_API ncclResult_t duofiP2pBroadcast(const void* send, void* recv, size_t count, duofiP2pDataType type,
                                             int root, duofiP2pComm* comm);
/* `count` elements to and from every rank. */
DUOFI_P2P_API ncclResult_t duofiP2pAllToAll(const void* send, void* recv, size_t count, duofiP2pDataType type,
                                            duofiP2pComm* comm);
DUOFI_P2P_API ncclResult_t duofiP2pSend(const void* data, size_t count, duofiP2pDataType type, int peer,
                                        duofiP2pComm* comm);
DUOFI_P2P_API ncclResult_t duofiP2pRecv(void* data, size_t count, duofiP2pDataType type, int peer,
                                        duofiP2pComm* comm);
/* Both at once: no deadlock between two ranks that exchange. */
DUOFI_P2P_API ncclResult_t duofiP2pSendRecv(const void* send, size_t sendCount, int to, void* recv, size_t recvCount,
                                            int from, duofiP2pDataType type, duofiP2pComm* comm);

#ifdef __cplusplus
}
#endif

#endif
