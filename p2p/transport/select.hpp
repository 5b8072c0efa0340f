// Which transport carries an edge (p2p contract 1.11). One communicator from one thread at a time.
#pragma once

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

/// Entry of a table of NTRANSPORTS, NULL for every other index (C-3).
[[nodiscard]] constexpr const ncclTransport* transport_at(const ncclTransport* const* table,
                                                          int index) noexcept {
    return index >= 0 && index < NTRANSPORTS ? table[index] : nullptr;
}

/// Where the walk starts: 1 for an edge to oneself outside of a graph, else 0 (C-11, T-1).
[[nodiscard]] constexpr int first_transport(const ncclTopoGraph* graph, int my_rank,
                                            int peer_rank) noexcept {
    return static_cast<int>(graph == nullptr) & static_cast<int>(my_rank == peer_rank);
}

/// Takes the first transport that accepts the pair, binds its half to the connector and calls its
/// setup (C-12). Errors: Errc::internal when none accepts, after the warning of C-13; what
/// canConnect and setup return.
template <Direction D>
[[nodiscard]] ncclResult_t select_transport(ncclComm& comm, ncclTopoGraph* graph, int peer,
                                            ncclConnect& blob, ncclConnector& connector,
                                            int channel);

extern template ncclResult_t select_transport<Direction::send>(ncclComm&, ncclTopoGraph*, int,
                                                               ncclConnect&, ncclConnector&, int);
extern template ncclResult_t select_transport<Direction::recv>(ncclComm&, ncclTopoGraph*, int,
                                                               ncclConnect&, ncclConnector&, int);

}  // namespace duofi::p2p
