// Connectors after connect: their mirror and their end.
#include <cstring>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/driver.hpp"
#include "p2p/transport/exchange.hpp"

namespace duofi::p2p {
namespace {

void free_one(ncclConnector& connector, Status& first) {
    if (connector.transportResources == nullptr) return;
    const Status freed =
        status_of(connector.transportComm->free(connector.transportResources), "free");
    if (first) first = freed;
    connector = {};
}

}  // namespace

Status mirror(const ncclComm& comm, int channel, int peer, Direction direction) {
    const ncclChannel& at = comm.channels[static_cast<std::size_t>(channel)];
    const bool sends = direction == Direction::send;
    const ncclConnector* from = sends ? &at.peers[peer].send : &at.peers[peer].recv;
    ncclConnector* to = sends ? &at.devPeers[peer].send : &at.devPeers[peer].recv;
    DUOFI_TRY(runtime::copy(to, from, sizeof(*from), CopyKind::host_to_device));
    if (!runtime::has(kHostAccessible) || std::memcmp(to, from, sizeof(*from)) == 0) return {};
    log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pMirrorBroken, comm.rank, peer);
    return fail(Errc::internal, "mirror");
}

Status free_connectors(ncclComm& comm) {
    Status first;
    for (ncclChannel& channel : comm.channels) {
        for (int peer = 0; peer < comm.n_ranks; ++peer) free_one(channel.peers[peer].send, first);
        for (int peer = 0; peer < comm.n_ranks; ++peer) free_one(channel.peers[peer].recv, first);
    }
    return first;
}

}  // namespace duofi::p2p
