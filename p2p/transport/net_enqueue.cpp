#include "p2p/transport/net_enqueue.hpp"

#include "p2p/transport/net_context.hpp"
#include "p2p/transport/net_edge.hpp"

namespace duofi::p2p {
namespace {

ncclPeer& entry_of(const ncclComm& comm, int channel, int peer) noexcept {
    return comm.channels[at(channel)].peers[peer];
}

Status enqueue(const ncclConnector& connector, const NetWork& work) {
    if (!proxied(connector) || work.steps == 0) return {};
    auto& edge = *static_cast<NetEdge*>(connector.transportResources);
    DUOFI_TRY(edge.know_buffer(work.protocol));
    return edge.context->proxy().post(edge, connector.transportComm, work);
}

Status enqueue_message(ncclComm& comm, const EdgeMessage& message, Direction direction) {
    if (message.peer < 0) return {};
    for (int channel = 0; channel < message.channels; ++channel) {
        const ncclPeer& entry = entry_of(comm, channel, message.peer);
        const ncclConnector& connector =
            direction == Direction::send ? entry.send : entry.recv;
        if (!proxied(connector)) continue;
        const Part part = part_of(message.bytes, channel, message.channels);
        DUOFI_TRY(
            enqueue(connector, transfer_work(part.bytes, message.protocol, comm.buff_sizes)));
    }
    return {};
}

}  // namespace

Status enqueue_ring(ncclComm& comm, const RingOperation& operation, int channels) {
    for (int channel = 0; channel < channels; ++channel) {
        const ncclRing& ring = comm.channels[at(channel)].ring;
        const ncclConnector& next = entry_of(comm, channel, ring.next).send;
        const ncclConnector& previous = entry_of(comm, channel, ring.prev).recv;
        if (!proxied(next) && !proxied(previous)) continue;
        const RingWork work = ring_work(
            operation, std::span(ring.userRanks, at(comm.n_ranks)), channels, comm.buff_sizes);
        DUOFI_TRY(enqueue(previous, work.from_previous));
        DUOFI_TRY(enqueue(next, work.to_next));
    }
    return {};
}

Status enqueue_transfer(ncclComm& comm, const EdgeMessage& out, const EdgeMessage& in) {
    DUOFI_TRY(enqueue_message(comm, in, Direction::recv));
    return enqueue_message(comm, out, Direction::send);
}

Status enqueue_all_to_all(ncclComm& comm, const EdgeMessage& message,
                          std::span<const int> peers) {
    EdgeMessage each = message;
    for (const int peer : peers) {
        each.peer = peer;
        DUOFI_TRY(enqueue_transfer(comm, each, each));
    }
    return {};
}

}  // namespace duofi::p2p
