// Marking, setting up, exchanging, connecting and freeing connectors (p2p
// contract 1.12, 1.13, 1.17, 1.18). The thread that uses the communicator.
#pragma once

#include <span>

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

/// Asks for connectors of one channel: data come from the ranks of `recv` and go to those of
/// `send`. Skips -1, numbers out of range, this rank (unless options.self) and what is connected.
/// Talks to nobody; calling it again changes nothing (C-15).
void mark(ncclComm& comm, int channel, std::span<const int> recv, std::span<const int> send);

/// Connects everything that is marked, together with the ranks at the other ends, which must have
/// marked the same. Returns after all of them have mapped what they need. On failure the ranks that
/// wait for this one are told, and the communicator is aborted. Errors: those of the transports and
/// of receive_message, Errc::invalid_usage when a rank marked something else (C-16).
[[nodiscard]] Status set_up(ncclComm& comm, ncclTopoGraph* graph);

/// Puts a connected connector where kernels read it (C-24), and looks whether it is there.
[[nodiscard]] Status mirror(const ncclComm& comm, int channel, int peer, Direction direction);

/// Frees all connectors: per channel the senders first. Goes on after a failure and returns the
/// first one. Connectors can be set up again afterwards.
[[nodiscard]] Status free_connectors(ncclComm& comm);

}  // namespace duofi::p2p
