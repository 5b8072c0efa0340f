/* Canonical v6; with MOCK_UNRESOLVED it cannot be loaded, because a symbol is missing everywhere.
 */
#include "common/abi/net_v6.h"
#include "mock_net.h"

#ifndef MOCK_NAME
#define MOCK_NAME "MockSix"
#endif

#ifdef MOCK_UNRESOLVED
ncclResult_t duofi_mock_nowhere_defined(int* count);
#define MOCK_DEVICES_ENTRY duofi_mock_nowhere_defined
#else
#define MOCK_DEVICES_ENTRY mock_devices
#endif

static ncclResult_t properties(int dev, ncclNetProperties_v6_t* props) {
    (void)dev;
    props->name = (char*)"mock0";
    props->pciPath = NULL;
    props->guid = 1;
    props->ptrSupport = NCCL_PTR_HOST;
    props->speed = 1000;
    props->port = 1;
    props->latency = 0;
    props->maxComms = 1024;
    props->maxRecvs = 1;
    return ncclSuccess;
}

MOCK_EXPORT const ncclNet_v6_t ncclNetPlugin_v6 = {
    .name = MOCK_NAME,
    .init = mock_init,
    .devices = MOCK_DEVICES_ENTRY,
    .getProperties = properties,
    .listen = mock_listen,
    .connect = mock_connect,
    .accept = mock_accept,
    .regMr = mock_reg,
    .regMrDmaBuf = mock_reg_dmabuf,
    .deregMr = mock_dereg,
    .isend = mock_isend,
    .irecv = mock_irecv,
    .iflush = mock_iflush,
    .test = mock_test,
    .closeSend = mock_close,
    .closeRecv = mock_close,
    .closeListen = mock_close_listen,
};
