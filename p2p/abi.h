/* Structs of the intra-node transport, as its callers and its kernels see them. Plain C99, compiles alone.
 * Layouts: p2p contract 1.2-1.9, proved by p2p/layout_check.cpp (C-9). LP64, little-endian.
 * Threads: plain data. What two sides share at run time (head, tail, ptrExchange, buffers) is read and written with
 * atomic accesses; everything else belongs to the communicator that made it. */
#ifndef DUOFI_P2P_ABI_H
#define DUOFI_P2P_ABI_H

#include "common/abi/host_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTRANSPORTS 2
#define TRANSPORT_P2P 0
#define TRANSPORT_NET 1
#define CONNECT_SIZE 128 /* bytes per (channel, direction, peer) */
#define MAXCHANNELS 32   /* masks of channels are 32 bits wide */

#define NCCL_PROTO_LL 0
#define NCCL_PROTO_LL128 1
#define NCCL_PROTO_SIMPLE 2
#define NCCL_NUM_PROTOCOLS 3
#define NCCL_STEPS 8

#define P2P_MEM_ALIGN 4096       /* header of a FIFO; buffers begin behind it */
#define P2P_CACHE_LINE_SIZE 128  /* distance of words that different sides write */
#define P2P_ALARM_OFFSET 256     /* of `alarm` in both FIFO headers */
#define P2P_IPC_MIN 0x200000     /* allocations are multiples of this */
#define P2P_IPC_MASK 0xffe00000u /* 32-bit rounding mask */
#define P2P_IPC_HANDLE_SIZE 64
#define P2P_IPC_LAZY_PEER_ACCESS 1 /* the only flag of an open */
#define P2P_PEER_ACCESS_ALREADY 704

/* Bits of ncclConnInfo.direct. */
#define NCCL_DIRECT_GPU 0x01
#define NCCL_DIRECT_NIC 0x10
#define NCCL_DIRECT_REGISTERED 0x100 /* ours: pointers go through registered segments */

/* Default buffer sizes in bytes; the last one is that of GPUs, CPUs use less (p2p contract 6.3). */
#define NCCL_DEFAULT_LL_BUFFSIZE 524288
#define NCCL_DEFAULT_LL128_BUFFSIZE 4915200
#define NCCL_DEFAULT_SIMPLE_BUFFSIZE 4194304
#define P2P_DEFAULT_CPU_SIMPLE_BUFFSIZE 2097152

struct ncclComm;
struct ncclTopoSystem;
struct ncclTopoGraph;
struct ncclProxyArgs;
struct ncclConnector;

/* Opaque outside the runtime; position-independent. */
typedef struct {
    unsigned char bytes[P2P_IPC_HANDLE_SIZE];
} p2pIpcHandle;

/* What every rank knows of every rank (p2p contract 1.4). All-gathered at init. -1 = unknown. */
typedef struct ncclPeerInfo {
    int32_t rank;
    int32_t cudaDev; /* index of the device in its process */
    int32_t gdrSupport;
    int32_t numaNode;
    uint64_t hostHash; /* C-6 */
    uint64_t pidHash;  /* C-7 */
    uint64_t shmDev;   /* IPC domain: equal = memory can be shared (p2p contract 2.5) */
    int64_t busId;
    int32_t instanceFamily;
    int32_t podType;
    uint64_t podId;
    int32_t podNode;
    int32_t routingId;
    int32_t tpbIndex;
    int32_t virtualCoreSize;
    uint64_t reserved;
    uint64_t comm; /* address of the communicator; means something in its own process only */
    int32_t computeCap;
    int32_t hostDevice;
    int32_t mlaIndex;
    int32_t podSize;
} ncclPeerInfo;

/* What one end tells the other about the memory it polls (p2p contract 1.5). */
typedef struct p2pConnectInfo {
    int32_t rank; /* owner of the memory: the sender of this, or the relay */
    int32_t read; /* 1: the receiver pulls SIMPLE data */
    void* directPtr;
    p2pIpcHandle devIpc;
} p2pConnectInfo;

/* Behind p2pConnectInfo in the same 128 bytes: lets the other end see a disagreement. */
typedef struct p2pBlobTrailer {
    uint64_t magic; /* P2P_TRAILER_MAGIC */
    uint16_t version;
    uint16_t transport; /* index into ncclTransports */
    uint32_t channel;
    uint32_t ownRank;
    uint32_t peerRank;
    uint32_t direction; /* 0: of a send connector, 1: of a recv connector */
    uint32_t buffDigest;
    uint64_t epoch; /* grows with every set-up of a communicator */
    uint32_t crc;   /* CRC32C of the 120 bytes in front of it */
    uint32_t pad;
} p2pBlobTrailer;

#define P2P_TRAILER_MAGIC 0x303262306f756400ULL /* "\0duo0b20" */
#define P2P_TRAILER_VERSION 1

/* The unit of exchange. */
typedef struct ncclConnect {
    unsigned char data[CONNECT_SIZE];
} ncclConnect;

/* What a connector keeps until free (p2p contract 1.6); same shape for both directions. */
typedef struct p2pResources {
    void* devMem;     /* my FIFO memory as I see it */
    void* ipcPtr;     /* mapping of the peer's memory to close, or NULL */
    int32_t remoteId; /* lease of a relay buffer, -1 without one */
    int32_t memRank;  /* owner of devMem */
    void* bootstrap;  /* to give a relay buffer back */
} p2pResources;

/* FIFO memory of a sender: polled by it, credits come in (p2p contract 1.7). */
typedef struct ncclSendMem {
    uint64_t head;
    char pad1[P2P_CACHE_LINE_SIZE - sizeof(uint64_t)];
    void* ptrExchange;
    char pad2[P2P_ALARM_OFFSET - P2P_CACHE_LINE_SIZE - sizeof(void*)];
    uint32_t alarm; /* 1 + the rank whose kernel failed, by the receiver; 0: none. An addition of ours */
    char pad4[P2P_MEM_ALIGN - P2P_ALARM_OFFSET - sizeof(uint32_t)];
    char buff[1]; /* SIMPLE buffer, in read mode only */
    char pad3[7];
} ncclSendMem;

/* FIFO memory of a receiver: polled by it, data come in. */
typedef struct ncclRecvMem {
    uint64_t tail;
    char pad1[P2P_CACHE_LINE_SIZE - sizeof(uint64_t)];
    int32_t sizesFifo[NCCL_STEPS];
    void* ptrsFifo[NCCL_STEPS];
    char pad2[P2P_ALARM_OFFSET - P2P_CACHE_LINE_SIZE - NCCL_STEPS * (sizeof(int32_t) + sizeof(void*))];
    uint32_t alarm; /* the same, by the sender */
    char pad4[P2P_MEM_ALIGN - P2P_ALARM_OFFSET - sizeof(uint32_t)];
    char buff[1]; /* LL, LL128, SIMPLE back to back; no SIMPLE in read mode */
    char pad3[7];
} ncclRecvMem;

/* All that a kernel needs of one direction of one edge (p2p contract 1.8). */
typedef struct ncclConnInfo {
    char* buffs[NCCL_NUM_PROTOCOLS];
    uint64_t* tail;
    uint64_t* head;
    int32_t direct; /* NCCL_DIRECT_* */
    int32_t shared;
    void** ptrExchange;
    int32_t* sizesFifo; /* NULL on P2P edges, but for DUOFI_P2P_DEBUG_SIZES=1 */
    void** ptrsFifo;
    uint64_t step;
    uint64_t llLastCleaning;
} ncclConnInfo;

/* One half of a transport (p2p contract 1.3). */
typedef struct ncclTransportComm {
    ncclResult_t (*setup)(struct ncclComm* comm, struct ncclTopoGraph* graph, ncclPeerInfo* myInfo,
                          ncclPeerInfo* peerInfo, ncclConnect* connectInfo,
                          struct ncclConnector* connector, int channelId);
    ncclResult_t (*connect)(struct ncclComm* comm, ncclConnect* connectInfo, int nranks, int rank,
                            struct ncclConnector* connector);
    ncclResult_t (*free)(void* transportResources);
    ncclResult_t (*proxy)(struct ncclProxyArgs* args);
    ncclResult_t (*allocRequest)(struct ncclProxyArgs* args);
    ncclResult_t (*freeRequest)(struct ncclProxyArgs* args);
} ncclTransportComm;

typedef struct ncclTransport {
    char name[16];
    ncclResult_t (*canConnect)(int* ret, struct ncclTopoSystem* topo, struct ncclTopoGraph* graph,
                               ncclPeerInfo* info1, ncclPeerInfo* info2);
    ncclTransportComm send;
    ncclTransportComm recv;
} ncclTransport;

typedef struct ncclConnector {
    int32_t connected;
    int32_t pad;
    void (*proxyAppend)(void);
    const ncclTransportComm* transportComm;
    void* transportResources;
    ncclConnInfo conn;
    struct ncclComm* comm;
} ncclConnector;

typedef struct ncclPeer {
    ncclConnector send;
    ncclConnector recv;
} ncclPeer;

typedef struct ncclRing {
    int32_t prev;
    int32_t next;
    int32_t* userRanks;
    int32_t* devUserRanks;
} ncclRing;

typedef struct ncclTree {
    int32_t depth;
    int32_t up;
    int32_t down[3];
} ncclTree;

/* Rings, trees and the connectors of one channel (p2p contract 1.9). */
typedef struct ncclChannel {
    ncclRing ring;
    ncclTree tree;
    ncclTree collTree;
    int32_t id;
    int32_t pad;
    ncclPeer* peers;    /* nRanks + 1 entries */
    ncclPeer* devPeers; /* what kernels read; the same memory on unified runtimes */
    void* workFifo;
    char reserved[512 - 0x60];
} ncclChannel;

/* [0] P2P, [1] NET; there is no third (C-1, C-3). */
__attribute__((visibility("default"))) extern const ncclTransport* const
    ncclTransports[NTRANSPORTS];
__attribute__((visibility("default"))) extern const ncclTransport p2pTransport;

#ifdef __cplusplus
}
#endif

#endif
