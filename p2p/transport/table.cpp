// The two transports and the order in which they are tried (p2p contract 1.2, 1.3). Constant data.
#include "common/abi/boundary.hpp"
#include "p2p/abi.h"
#include "p2p/gate/can_connect.hpp"
#include "p2p/transport/net_transport.hpp"
#include "p2p/transport/p2p_transport.hpp"

namespace duofi::p2p {
namespace {

template <Direction D>
constexpr ncclTransportComm kHalf = {
    .setup = abi::entry<&p2p_setup<D>>,
    .connect = abi::entry<&p2p_connect<D>>,
    .free = abi::entry<&p2p_free>,
    // No host works for an edge once it is connected (C-4).
    .proxy = nullptr,
    .allocRequest = nullptr,
    .freeRequest = nullptr,
};

}  // namespace
}  // namespace duofi::p2p

extern "C" {

using namespace duofi::p2p;

constinit const ncclTransport p2pTransport = {
    .name = "P2P",
    .canConnect = duofi::abi::entry<&can_connect>,
    .send = kHalf<Direction::send>,
    .recv = kHalf<Direction::recv>,
};

constinit const ncclTransport* const ncclTransports[NTRANSPORTS] = {&p2pTransport, &net_transport};
}
