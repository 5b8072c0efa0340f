#include "p2p/transport/net_transport.hpp"

#include "common/abi/boundary.hpp"

namespace duofi::p2p {
namespace {

Status can_connect_nobody(int* ret, ncclTopoSystem*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*) {
    if (ret == nullptr) return fail(Errc::invalid_argument, "canConnect");
    *ret = 0;
    return {};
}

// Nobody gets this far after a refusal.
Status no_setup(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*, ncclConnect*,
                ncclConnector*, int) {
    return fail(Errc::unsupported, "setup");
}
Status no_connect(ncclComm*, ncclConnect*, int, int, ncclConnector*) {
    return fail(Errc::unsupported, "connect");
}
Status no_free(void* resources) {
    if (resources == nullptr) return {};
    return fail(Errc::unsupported, "free");
}
Status no_proxy(ncclProxyArgs*) {
    return fail(Errc::unsupported, "proxy");
}

constexpr ncclTransportComm kHalf = {
    .setup = abi::entry<&no_setup>,
    .connect = abi::entry<&no_connect>,
    .free = abi::entry<&no_free>,
    .proxy = abi::entry<&no_proxy>,
    .allocRequest = abi::entry<&no_proxy>,
    .freeRequest = abi::entry<&no_proxy>,
};

}  // namespace

constinit const ncclTransport net_transport = {
    .name = "NET_NEURON",
    .canConnect = abi::entry<&can_connect_nobody>,
    .send = kHalf,
    .recv = kHalf,
};

}  // namespace duofi::p2p
