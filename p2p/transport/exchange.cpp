#include "p2p/transport/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/log_subsystems.hpp"

namespace duofi::p2p {
namespace {

constexpr Nanoseconds kSlice = 20 * kMillisecond;
constexpr Nanoseconds kTellTime = 1 * kSecond;

/// Evidence about a rank of this node is better than what the exchange believes: when its serving
/// rank has left, it takes that one for lost.
int first_lost_rank(const ncclComm& comm, int suspect) {
    const int believed = comm.bootstrap->lost_rank();
    if (comm.processes.empty()) return believed;
    const HostIdentity& self = comm.processes[static_cast<std::size_t>(comm.rank)];
    const auto gone = [&](int peer) { return process_gone(comm.processes[static_cast<std::size_t>(peer)], self); };
    if (comm.known(suspect) && gone(suspect)) return suspect;
    for (int peer = 0; peer < comm.n_ranks; ++peer)
        if (gone(peer)) return peer;
    if (!comm.known(believed)) return -1;
    const HostIdentity& other = comm.processes[static_cast<std::size_t>(believed)];
    return same_kernel_and_pid_namespace(other, self) ? -1 : believed;
}

tl::unexpected<Error> failed(ncclComm& comm, int peer, const char* name, const Error& error) {
    if (error.code == Errc::remote) note_lost_rank(comm, -1);
    const int dead = comm.aborted() ? comm.lost_rank() : -1;
    if (dead >= 0)
        log::warn(kSetupLog, messages::kP2pPeerGone, comm.rank, dead,
                  comm.processes[static_cast<std::size_t>(dead)].pid);
    else if (comm.aborted())
        log::warn(kSetupLog, messages::kP2pAborted, comm.rank, name);
    else
        log::warn(kSetupLog, messages::kP2pBootstrapFailed, comm.rank, peer, name,
                  to_string(error.code));
    return tl::unexpected<Error>(error);
}

/// One wait, cut into slices where that is possible.
Result<Message> next_message(ncclComm& comm, int peer, const char* name) {
    const Deadline deadline(comm.options.timeout);
    if (!comm.bootstrap->can_repeat()) return comm.bootstrap->receive(peer, name, deadline);
    while (!comm.aborted()) {
        const Deadline slice(std::min(kSlice, deadline.remaining()));
        Result<Message> message = comm.bootstrap->receive(peer, name, slice);
        if (message || message.error().code != Errc::timed_out || deadline.passed()) return message;
    }
    return fail(Errc::remote, "abort");
}

}  // namespace

void note_lost_rank(ncclComm& comm, int suspect) {
    if (comm.lost_rank() >= 0) return;
    const int lost = first_lost_rank(comm, suspect);
    std::int32_t nobody = -1;
    if (lost >= 0) std::atomic_ref(comm.dead_rank).compare_exchange_strong(nobody, lost);
}

Status send_message(ncclComm& comm, int peer, MessageType type, std::span<const std::byte> data,
                    const char* name) {
    const Status sent =
        comm.bootstrap->send(peer, type, data, name, Deadline(comm.options.timeout));
    if (!sent) return failed(comm, peer, name, sent.error());
    return {};
}

Result<Message> receive_message(ncclComm& comm, int peer, MessageType type, const char* name) {
    Result<Message> message = next_message(comm, peer, name);
    if (!message) return failed(comm, peer, name, message.error());
    if (message->type == type) return message;
    std::int32_t reason = 0;
    if (message->type == MessageType::gave_up && message->bytes.size() == sizeof(reason)) {
        std::memcpy(&reason, message->bytes.data(), sizeof(reason));
        log::warn(kSetupLog, messages::kP2pPeerGaveUp, comm.rank, peer, name, reason);
        return fail(Errc::remote, name);
    }
    log::warn(kSetupLog, messages::kP2pUnexpected, comm.rank, peer,
              static_cast<std::uint32_t>(message->type), name, static_cast<std::uint32_t>(type));
    return fail(Errc::invalid_usage, name);
}

Status tell_failure(ncclComm& comm, int peer, ncclResult_t reason, const char* name) {
    const auto code = static_cast<std::int32_t>(reason);
    return comm.bootstrap->send(peer, MessageType::gave_up, std::as_bytes(std::span(&code, 1)),
                                name, Deadline(kTellTime));
}

Status meet_all(ncclComm& comm, const char* name) {
    // After round k a rank knows that the 2^k ranks in front of it have arrived.
    for (int distance = 1; distance < comm.n_ranks; distance *= 2) {
        const int to = (comm.rank + distance) % comm.n_ranks;
        const int from = (comm.rank - distance + comm.n_ranks) % comm.n_ranks;
        DUOFI_TRY(send_message(comm, to, MessageType::barrier, {}, name));
        DUOFI_TRY(receive_message(comm, from, MessageType::barrier, name));
    }
    return {};
}

Status status_of(ncclResult_t result, const char* place) {
    switch (result) {
        case ncclSuccess:
            return {};
        case ncclInvalidArgument:
            return fail(Errc::invalid_argument, place);
        case ncclInvalidUsage:
            return fail(Errc::invalid_usage, place);
        case ncclRemoteError:
            return fail(Errc::remote, place);
        case ncclInternalError:
            return fail(Errc::internal, place);
        default:
            return fail(Errc::system, place);
    }
}

}  // namespace duofi::p2p
