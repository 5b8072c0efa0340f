#include <memory>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/blob.hpp"
#include "p2p/transport/edge.hpp"
#include "p2p/transport/p2p_transport.hpp"

namespace duofi::p2p {
namespace {

Status own_memory(const ncclComm& comm, Edge& edge, p2pConnectInfo& info) {
    DUOFI_ASSIGN(info.directPtr, runtime::allocate(edge.bytes));
    edge.base.devMem = info.directPtr;
    info.rank = edge.base.memRank = comm.rank;
    if (edge.mode == WireMode::ipc) DUOFI_TRY(runtime::ipc_get(&info.devIpc, info.directPtr));
    return {};
}

Status relay_memory(const ncclComm& comm, Edge& edge, int relay, p2pConnectInfo& info) {
    const auto index = static_cast<std::size_t>(relay);
    if (!comm.known(relay) || comm.relays[index].length == 0) {
        log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pNoRelayAddress, comm.rank, edge.peer, relay);
        return fail(Errc::invalid_usage, "relay");
    }
    DUOFI_ASSIGN(const RelayLease lease, runtime::remote_allocate(comm.relays[index], edge.bytes));
    edge.base.remoteId = lease.id;
    info.rank = edge.base.memRank = relay;
    info.directPtr = lease.pointer;
    info.devIpc = lease.handle;
    DUOFI_ASSIGN(edge.own, map_memory(comm, info, edge.bytes));
    edge.base.devMem = edge.own.memory;
    edge.base.ipcPtr = edge.own.ipc;
    return {};
}

WireMode mode_of(const ncclComm& comm, const PathAnswer& path, int peer) {
    if (path.intermediate != -1) return WireMode::relay;
    return same_process(comm, peer) ? WireMode::direct : WireMode::ipc;
}

}  // namespace

template <Direction D>
Status p2p_setup(ncclComm* comm, ncclTopoGraph* /*graph*/, ncclPeerInfo* me, ncclPeerInfo* peer,
                 ncclConnect* blob, ncclConnector* connector, int channel) {
    if (comm == nullptr || me == nullptr || peer == nullptr || blob == nullptr ||
        connector == nullptr || !comm->known(peer->rank))
        return fail(Errc::invalid_argument, "setup");
    auto* edge = new Edge;
    connector->transportResources = edge;
    const PathAnswer path = check_p2p(comm->topo, *me, *peer);
    edge->direction = D;
    edge->read = path.read;
    edge->relay_support = comm->options.relay;
    edge->channel = channel;
    edge->peer = peer->rank;
    edge->mode = mode_of(*comm, path, peer->rank);
    edge->bytes = D == Direction::send ? send_mem_bytes(comm->buff_sizes, path.read)
                                       : recv_mem_bytes(comm->buff_sizes, path.read);
    edge->base.bootstrap = comm->bootstrap;

    p2pConnectInfo info{};
    info.read = path.read ? 1 : 0;
    if (edge->mode == WireMode::relay)
        DUOFI_TRY(relay_memory(*comm, *edge, path.intermediate, info));
    else
        DUOFI_TRY(own_memory(*comm, *edge, info));
    if (edge->mode == WireMode::direct && !path.read) connector->conn.direct |= NCCL_DIRECT_GPU;
    if constexpr (D == Direction::send) log_edge(*comm, *edge);
    pack_blob(*comm, {channel, comm->rank, peer->rank, D}, info, *blob);
    return {};
}

template Status p2p_setup<Direction::send>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*,
                                           ncclConnect*, ncclConnector*, int);
template Status p2p_setup<Direction::recv>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*,
                                           ncclConnect*, ncclConnector*, int);

}  // namespace duofi::p2p
