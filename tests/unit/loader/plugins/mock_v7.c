/* A second table in the same library as mock_v6.c; only what a caller calls while it chooses. */
#include "common/abi/net_v7.h"
#include "mock_net.h"

static ncclResult_t properties(int dev, ncclNetProperties_v7_t* props) {
    (void)dev;
    props->name = (char*)"mock0";
    props->netDeviceType = NCCL_NET_DEVICE_HOST;
    props->netDeviceVersion = 0;
    return ncclSuccess;
}

MOCK_EXPORT const ncclNet_v7_t ncclNetPlugin_v7 = {
    .name = "MockSeven",
    .init = mock_init,
    .devices = mock_devices,
    .getProperties = properties,
};
