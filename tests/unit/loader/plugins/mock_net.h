/* A real, small network inside one process, for the mock plugins: queues in memory, non-blocking.
 * Every connection and every post answers "not yet" once before it works, as plugins may. One
 * thread. */
#ifndef DUOFI_MOCK_NET_H
#define DUOFI_MOCK_NET_H

#include "common/abi/host_types.h"

/* What a test reads or presets through the exported symbol `mock_state`. */
struct mock_state {
    int inits;
    int device_calls;
    int finalizes;
    int fini_calls;
    int open_comms;
    int open_registrations;
    ncclDebugLogger_t logger;
};

#define MOCK_EXPORT __attribute__((visibility("default")))

extern MOCK_EXPORT struct mock_state mock_state;

ncclResult_t mock_init(ncclDebugLogger_t logger);
ncclResult_t mock_devices(int* count);
ncclResult_t mock_listen(int dev, void* handle, void** comm);
ncclResult_t mock_connect(int dev, void* handle, void** comm);
ncclResult_t mock_accept(void* listener, void** comm);
ncclResult_t mock_reg(void* comm, void* data, int size, int type, void** mhandle);
ncclResult_t mock_reg_dmabuf(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                             void** mhandle);
ncclResult_t mock_dereg(void* comm, void* mhandle);
ncclResult_t mock_isend(void* comm, void* data, int size, int tag, void* mhandle, void** request);
ncclResult_t mock_irecv(void* comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                        void** request);
ncclResult_t mock_iflush(void* comm, int n, void** data, int* sizes, void** mhandles,
                         void** request);
ncclResult_t mock_test(void* request, int* done, int* sizes);
ncclResult_t mock_close(void* comm);
ncclResult_t mock_close_listen(void* comm);

#endif
