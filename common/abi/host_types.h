/* Types and constants that the tables of every caller share. Plain C99, compiles alone.
 * Values: net contract 2.1 and 2.4, rma contract 2.1-2.3. LP64, little-endian. */
#ifndef DUOFI_ABI_HOST_TYPES_H
#define DUOFI_ABI_HOST_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Result of every table entry. Do not read 8 from callers older than the one that introduced it. */
typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclTimeout = 8,
    ncclNumResults = 9
} ncclResult_t;

typedef enum {
    NCCL_LOG_NONE = 0,
    NCCL_LOG_VERSION = 1,
    NCCL_LOG_WARN = 2,
    NCCL_LOG_INFO = 3,
    NCCL_LOG_ABORT = 4,
    NCCL_LOG_TRACE = 5
} ncclDebugLogLevel;

/* Bits of the logger's `flags`. */
typedef enum {
    NCCL_INIT = 0x1,
    NCCL_COLL = 0x2,
    NCCL_P2P = 0x4,
    NCCL_SHM = 0x8,
    NCCL_NET = 0x10,
    NCCL_GRAPH = 0x20,
    NCCL_TUNING = 0x40,
    NCCL_ENV = 0x80,
    NCCL_ALLOC = 0x100,
    NCCL_CALL = 0x200,
    NCCL_PROXY = 0x400,
    NCCL_NVLS = 0x800,
    NCCL_BOOTSTRAP = 0x1000,
    NCCL_REG = 0x2000,
    NCCL_PROFILE = 0x4000,
    NCCL_RAS = 0x8000,
    NCCL_DESTROY = 0x10000,
    NCCL_ALLOC_HOST = 0x20000,
    NCCL_ALL = ~0
} ncclDebugLogSubSys;

/* The caller's logger: any thread, printf format, no newline at the end. */
typedef void (*ncclDebugLogger_t)(ncclDebugLogLevel level, unsigned long flags, const char* file,
                                  int line, const char* fmt, ...);

/* `type` of the profiler callback. */
enum {
    NCCL_PROFILER_NET_EVENT_START = 0,
    NCCL_PROFILER_NET_EVENT_STOP = 1,
    NCCL_PROFILER_NET_EVENT_UPDATE = 2,
    NCCL_PROFILER_NET_EVENT_UPDATE_AND_STOP = 3
};

/* From v10 on. pluginId = network type bits (InfiniBand 1<<16, sockets 2<<16) | version. */
typedef ncclResult_t (*ncclProfilerCallback_t)(void** eHandle, int type, void* pHandle,
                                               int64_t pluginId, void* extData);

/* Kinds of memory: bits of ptrSupport, values of regMr's type. Value 4 differs between the callers.
 */
#define NCCL_PTR_HOST 0x1
#define NCCL_PTR_CUDA 0x2
#define NCCL_PTR_DMABUF 0x4
#define NCCL_PTR_NEURON 0x4

#define NCCL_NET_HANDLE_MAXSIZE 128   /* net v5 and later, RMA */
#define NCCL_NET_HANDLE_MAXSIZE_V4 64 /* net v4 */
#define NCCL_NET_MAX_REQUESTS 32      /* callers up to 2.18: 8 */
#define NCCL_NET_NEURON_MAX_REQUESTS 128
#define NCCL_NET_MAX_RECVS 8 /* widest grouped receive of any caller */
#define NCCL_RMA_MAX_CONNECTIONS 4

/* *request on entry to irecv: the receive may complete as soon as it is posted (v9 and later). */
#define NCCL_NET_OPTIONAL_RECV_COMPLETION 0x1
#define NCCL_NET_MULTI_REQUEST 0x2

#define NCCL_MAX_NET_SIZE (1024 * 1024 * 1024L)    /* per operation, v6 to v8 */
#define NCCL_MAX_COLLNET_SIZE (512 * 1024 * 1024L) /* per operation */
#define NCCL_MAX_NET_SIZE_BYTES \
    (1024L * 1024 * 1024 * 1024) /* bound of maxP2pBytes, maxCollBytes */

#define NCCL_NET_TRAFFIC_CLASS_UNDEF (-1)
#define NCCL_NET_ID_UNDEF (-1)
#define NCCL_NET_ATTR_UNDEF (-1)

/* RMA: flags of a registration, operations on a signal, flags of an operation (unknown bits:
 * ignore). */
#define NCCL_NET_MR_FLAG_FORCE_SO (1 << 0)
#define NCCL_NET_MR_FLAG_SIGNAL_NEVER_RESET (1 << 1)
#define NCCL_NET_SIGNAL_OP_INC 0x1
#define NCCL_NET_SIGNAL_OP_ADD 0x2
#define NCCL_RMA_OPT_FLAGS_DEFAULT 0u
#define NCCL_RMA_OPT_FLAGS_AGGREGATE_REQUESTS (1u << 0)

typedef enum {
    NCCL_NET_DEVICE_HOST = 0,
    NCCL_NET_DEVICE_UNPACK = 1,
    NCCL_NET_DEVICE_GIN_PROXY = 2,
    NCCL_NET_DEVICE_GIN_GDAKI = 3,
    NCCL_NET_DEVICE_GIN_GPI = 4,
    NCCL_NET_DEVICE_EFA_GDA = 5
} ncclNetDeviceType;

#define NCCL_NET_DEVICE_INVALID_VERSION 0x0
#define NCCL_NET_DEVICE_UNPACK_VERSION 0x7

#endif
