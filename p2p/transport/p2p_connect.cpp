#include <cstddef>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/blob.hpp"
#include "p2p/transport/edge.hpp"
#include "p2p/transport/p2p_transport.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kBuffersAt = offsetof(ncclRecvMem, buff);
static_assert(kBuffersAt == offsetof(ncclSendMem, buff));

/// `own_send` and `own_recv` of one edge: the sender's and the receiver's memory as I see them.
void wire(const ncclComm& comm, const Edge& edge, void* send_memory, void* recv_memory,
          ncclConnInfo& conn) {
    auto* send = static_cast<ncclSendMem*>(send_memory);
    auto* recv = static_cast<ncclRecvMem*>(recv_memory);
    char* buffers = static_cast<char*>(recv_memory) + kBuffersAt;
    const std::size_t ll = comm.buff_sizes.bytes[NCCL_PROTO_LL];
    const std::size_t ll128 = comm.buff_sizes.bytes[NCCL_PROTO_LL128];
    conn.buffs[NCCL_PROTO_LL] = buffers;
    conn.buffs[NCCL_PROTO_LL128] = buffers + ll;
    conn.buffs[NCCL_PROTO_SIMPLE] =
        edge.read ? static_cast<char*>(send_memory) + kBuffersAt : buffers + ll + ll128;
    conn.tail = &recv->tail;
    conn.head = &send->head;
    conn.ptrExchange = &send->ptrExchange;
    conn.sizesFifo = comm.options.debug_sizes ? recv->sizesFifo : nullptr;
    conn.ptrsFifo = nullptr;
    conn.shared = 0;
    conn.step = 0;
    conn.llLastCleaning = 0;
}

Status check_info(const ncclComm& comm, const Edge& edge, const p2pConnectInfo& info) {
    if (!comm.known(info.rank) || (info.rank != edge.peer && edge.mode != WireMode::relay)) {
        log::warn(kSetupLog, messages::kP2pBadOwner, comm.rank, edge.peer, info.rank, comm.n_ranks - 1);
        return fail(Errc::remote, "connect");
    }
    if ((info.read != 0) != edge.read) {
        log::warn(kSetupLog, messages::kP2pReadDisagrees, comm.rank, edge.peer, info.read, edge.channel,
                  edge.read ? 1 : 0);
        return fail(Errc::invalid_usage, "connect");
    }
    return {};
}

}  // namespace

template <Direction D>
Status p2p_connect(ncclComm* comm, ncclConnect* blob, int /*ranks*/, int /*rank*/,
                   ncclConnector* connector) {
    if (comm == nullptr || blob == nullptr || connector == nullptr ||
        connector->transportResources == nullptr)
        return fail(Errc::invalid_argument, "connect");
    Edge& edge = edge_of(*connector);
    if (connector->connected != 0) {
        log::warn(kSetupLog, messages::kP2pConnectedTwice, comm->rank, edge.channel);
        return fail(Errc::internal, "connect");
    }
    constexpr bool kSends = D == Direction::send;
    constexpr Direction kPeers = kSends ? Direction::recv : Direction::send;
    DUOFI_ASSIGN(const p2pConnectInfo info,
                 unpack_blob(*comm, {edge.channel, edge.peer, comm->rank, kPeers}, *blob));
    DUOFI_TRY(check_info(*comm, edge, info));
    const std::size_t needed = kSends ? recv_mem_bytes(comm->buff_sizes, edge.read)
                                      : send_mem_bytes(comm->buff_sizes, edge.read);
    DUOFI_ASSIGN(edge.peers, map_memory(*comm, info, needed));
    edge.base.ipcPtr = edge.peers.ipc;
    if constexpr (kSends)
        wire(*comm, edge, edge.base.devMem, edge.peers.memory, connector->conn);
    else
        wire(*comm, edge, edge.peers.memory, edge.base.devMem, connector->conn);
    connector->connected = 1;
    return {};
}

template Status p2p_connect<Direction::send>(ncclComm*, ncclConnect*, int, int, ncclConnector*);
template Status p2p_connect<Direction::recv>(ncclComm*, ncclConnect*, int, int, ncclConnector*);

}  // namespace duofi::p2p
