// Waiting for other ranks: every wait ends with a message, a deadline, an abort or a lost rank. One
// WARN line per failure. The thread that uses the communicator.
#pragma once

#include <cstddef>
#include <span>

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/bootstrap.hpp"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

/// `name` says in log lines what the exchange is for.
[[nodiscard]] Status send_message(ncclComm& comm, int peer, MessageType type,
                                  std::span<const std::byte> data, const char* name);

/// The next message of that rank, which must be of that type. Errors: Errc::timed_out after
/// comm.options.timeout, Errc::remote (rank lost, or it gave up), Errc::invalid_usage (other type),
/// Errc::system. A lost rank is noted in comm.dead_rank.
[[nodiscard]] Result<Message> receive_message(ncclComm& comm, int peer, MessageType type,
                                              const char* name);

/// Notes in comm.dead_rank a rank whose process is gone, unless one is noted: `suspect` if it is one of those (others may have left
/// because of it). Who hears of a failure from its neighbours may hear it before its own watch does.
void note_lost_rank(ncclComm& comm, int suspect);

/// Tells a rank that waits for this one that it waits in vain; takes a second at most.
[[nodiscard]] Status tell_failure(ncclComm& comm, int peer, ncclResult_t reason, const char* name);

/// Returns when all ranks are here. Messages only, so aborts end it.
[[nodiscard]] Status meet_all(ncclComm& comm, const char* name);

/// Back from a table entry's code.
[[nodiscard]] Status status_of(ncclResult_t result, const char* place);

}  // namespace duofi::p2p
