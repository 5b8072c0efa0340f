/* The Neuron layout under the same symbol: fini at +16, devices at +24 (net contract 1.5). */
#include "common/abi/net_neuron.h"
#include "mock_net.h"

static ncclResult_t fini(void) {
    ++mock_state.fini_calls;
    return ncclSuccess;
}

MOCK_EXPORT const ncclNet_neuron_v6_t ncclNetPlugin_v6 = {
    .name = "MockNeuron",
    .init = mock_init,
    .fini = fini,
    .devices = mock_devices,
};
