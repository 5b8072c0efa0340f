// Index 1 of ncclTransports: edges over a net plugin, for pairs that P2P refuses (p2p contract 5).
// One communicator from one thread at a time.
#pragma once

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

extern const ncclTransport net_transport;

/// Listens (receivers) and makes the FIFO memory. The blob of a receiver is the plugin's handle and
/// nothing else (T-15), that of a sender is zero. Failures leave the connector fit for free.
template <Direction D>
[[nodiscard]] Status net_setup(ncclComm* comm, ncclTopoGraph* graph, ncclPeerInfo* me,
                               ncclPeerInfo* peer, ncclConnect* blob, ncclConnector* connector,
                               int channel);

/// One attempt: connected stays 0 until the plugin has a comm (T-16). Errors: Errc::invalid_usage
/// when the other end selected P2P, Errc::remote and Errc::system as the plugin says.
template <Direction D>
[[nodiscard]] Status net_connect(ncclComm* comm, ncclConnect* blob, int ranks, int rank,
                                 ncclConnector* connector);

/// `resources` of either direction, or NULL. A second at most for what is still under way.
[[nodiscard]] Status net_free(void* resources);

extern template Status net_setup<Direction::send>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*,
                                                  ncclPeerInfo*, ncclConnect*, ncclConnector*, int);
extern template Status net_setup<Direction::recv>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*,
                                                  ncclPeerInfo*, ncclConnect*, ncclConnector*, int);
extern template Status net_connect<Direction::send>(ncclComm*, ncclConnect*, int, int,
                                                    ncclConnector*);
extern template Status net_connect<Direction::recv>(ncclComm*, ncclConnect*, int, int,
                                                    ncclConnector*);

}  // namespace duofi::p2p
