// The six functions of p2pTransport (p2p contract 1.14-1.18). The table itself is in table.cpp.
// One communicator from one thread at a time.
#pragma once

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

/// Makes FIFO memory for one direction of an edge, hangs the resources on the connector and fills
/// the blob for the peer. Failures leave the connector fit for free.
template <Direction D>
[[nodiscard]] Status p2p_setup(ncclComm* comm, ncclTopoGraph* graph, ncclPeerInfo* me,
                               ncclPeerInfo* peer, ncclConnect* blob, ncclConnector* connector,
                               int channel);

/// Maps what the peer's blob names and wires connector->conn (p2p contract 1.16). `ranks` is 1.
/// Errors: Errc::internal when connected already (C-21), those of unpack_blob and map_memory,
/// Errc::invalid_usage when the ends disagree about `read` (C-22).
template <Direction D>
[[nodiscard]] Status p2p_connect(ncclComm* comm, ncclConnect* blob, int ranks, int rank,
                                 ncclConnector* connector);

/// `resources` of either direction, or NULL (C-26). Ends the process for a relay buffer without
/// relay support (C-25).
[[nodiscard]] Status p2p_free(void* resources);

extern template Status p2p_setup<Direction::send>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*,
                                                  ncclPeerInfo*, ncclConnect*, ncclConnector*, int);
extern template Status p2p_setup<Direction::recv>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*,
                                                  ncclPeerInfo*, ncclConnect*, ncclConnector*, int);
extern template Status p2p_connect<Direction::send>(ncclComm*, ncclConnect*, int, int,
                                                    ncclConnector*);
extern template Status p2p_connect<Direction::recv>(ncclComm*, ncclConnect*, int, int,
                                                    ncclConnector*);

/// Pages for the buffers of one protocol, at the first use of an edge; a bit test afterwards.
/// Errors: Errc::no_memory, those of the runtime.
[[nodiscard]] Status reserve_buffers(const ncclComm& comm, ncclConnector& connector, int protocol);

/// After the post-connect barrier: the peer has opened what it needs (p2p contract 1.13).
[[nodiscard]] Status end_export(const ncclConnector& connector);

}  // namespace duofi::p2p
