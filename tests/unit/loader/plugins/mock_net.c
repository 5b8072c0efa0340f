#include "mock_net.h"

#include <stdlib.h>
#include <string.h>

#ifndef MOCK_INIT_RESULT
#define MOCK_INIT_RESULT ncclSuccess
#endif
#ifndef MOCK_DEVICES
#define MOCK_DEVICES 2
#endif

#define MOCK_LONGEST 4096

struct mock_state mock_state;

/* One direction between a send and a receive comm: one message at a time is enough. */
struct mock_wire {
    int users;
    int polls;
    int posts;
    int full;
    int size;
    char data[MOCK_LONGEST];
};

struct mock_listener {
    struct mock_wire* waiting;
    int polls;
};

struct mock_request {
    struct mock_wire* wire;
    void* target; /* NULL for a send */
    int size;
};

ncclResult_t mock_init(ncclDebugLogger_t logger) {
    ++mock_state.inits;
    mock_state.logger = logger;
    if (logger != NULL)
        logger(NCCL_LOG_INFO, NCCL_INIT | NCCL_NET, "mock_net.c", 7, "mock init %d", 42);
    return MOCK_INIT_RESULT;
}

ncclResult_t mock_devices(int* count) {
    ++mock_state.device_calls;
    *count = MOCK_DEVICES;
    return ncclSuccess;
}

ncclResult_t mock_listen(int dev, void* handle, void** comm) {
    struct mock_listener* listener;
    if (dev < 0 || dev >= MOCK_DEVICES) return ncclInternalError;
    listener = calloc(1, sizeof *listener);
    memcpy(handle, &listener, sizeof listener);
    *comm = listener;
    ++mock_state.open_comms;
    return ncclSuccess;
}

ncclResult_t mock_connect(int dev, void* handle, void** comm) {
    struct mock_listener* listener;
    (void)dev;
    *comm = NULL;
    memcpy(&listener, handle, sizeof listener);
    if (listener == NULL) return ncclRemoteError;
    if (listener->polls++ == 0) return ncclSuccess;
    listener->waiting = calloc(1, sizeof *listener->waiting);
    listener->waiting->users = 1;
    *comm = listener->waiting;
    ++mock_state.open_comms;
    return ncclSuccess;
}

ncclResult_t mock_accept(void* opaque, void** comm) {
    struct mock_listener* listener = opaque;
    *comm = NULL;
    if (listener->waiting == NULL || listener->waiting->polls++ == 0) return ncclSuccess;
    ++listener->waiting->users;
    *comm = listener->waiting;
    listener->waiting = NULL;
    ++mock_state.open_comms;
    return ncclSuccess;
}

ncclResult_t mock_reg(void* comm, void* data, int size, int type, void** mhandle) {
    (void)comm;
    (void)data;
    if (size <= 0 || type != NCCL_PTR_HOST) return ncclInvalidArgument;
    *mhandle = &mock_state;
    ++mock_state.open_registrations;
    return ncclSuccess;
}

ncclResult_t mock_reg_dmabuf(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                             void** mhandle) {
    (void)offset;
    (void)fd;
    return mock_reg(comm, data, (int)size, type, mhandle);
}

ncclResult_t mock_dereg(void* comm, void* mhandle) {
    (void)comm;
    if (mhandle != &mock_state) return ncclInternalError;
    --mock_state.open_registrations;
    return ncclSuccess;
}

static ncclResult_t post(struct mock_wire* wire, void* target, int size, void** request) {
    struct mock_request* posted = calloc(1, sizeof *posted);
    posted->wire = wire;
    posted->target = target;
    posted->size = size;
    *request = posted;
    return ncclSuccess;
}

ncclResult_t mock_isend(void* comm, void* data, int size, int tag, void* mhandle, void** request) {
    struct mock_wire* wire = comm;
    (void)tag;
    (void)mhandle;
    *request = NULL;
    if (size > MOCK_LONGEST) return ncclInvalidUsage;
    if (wire->posts++ == 0 || wire->full) return ncclSuccess;
    memcpy(wire->data, data, (size_t)size);
    wire->size = size;
    wire->full = 1;
    return post(wire, NULL, size, request);
}

ncclResult_t mock_irecv(void* comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request) {
    (void)tags;
    (void)mhandles;
    *request = NULL;
    if (n != 1) return ncclInvalidArgument;
    return post(comm, data[0], sizes[0], request);
}

ncclResult_t mock_iflush(void* comm, int n, void** data, int* sizes, void** mhandles,
                         void** request) {
    (void)comm;
    (void)n;
    (void)data;
    (void)sizes;
    (void)mhandles;
    *request = NULL;
    return ncclSuccess;
}

ncclResult_t mock_test(void* opaque, int* done, int* sizes) {
    struct mock_request* request = opaque;
    struct mock_wire* wire = request->wire;
    ncclResult_t result = ncclSuccess;
    *done = 0;
    if (request->target != NULL) {
        if (!wire->full) return ncclSuccess;
        if (wire->size > request->size) result = ncclRemoteError;
        if (result == ncclSuccess) memcpy(request->target, wire->data, (size_t)wire->size);
        request->size = wire->size;
        wire->full = 0;
    }
    *done = 1;
    if (sizes != NULL) *sizes = request->size;
    free(request);
    return result;
}

ncclResult_t mock_close(void* comm) {
    struct mock_wire* wire = comm;
    --mock_state.open_comms;
    if (--wire->users == 0) free(wire);
    return ncclSuccess;
}

ncclResult_t mock_close_listen(void* comm) {
    --mock_state.open_comms;
    free(comm);
    return ncclSuccess;
}
