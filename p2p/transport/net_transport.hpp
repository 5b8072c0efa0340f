// Index 1 of ncclTransports: edges over the network. Nothing is offered yet: it refuses every pair,
// and says so.
#pragma once

#include "p2p/abi.h"

namespace duofi::p2p {

extern const ncclTransport net_transport;

}  // namespace duofi::p2p
