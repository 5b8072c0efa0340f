#include "p2p/transport/select.hpp"

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"

namespace duofi::p2p {

template <Direction D>
ncclResult_t select_transport(ncclComm& comm, ncclTopoGraph* graph, int peer, ncclConnect& blob,
                              ncclConnector& connector, int channel) {
    ncclPeerInfo& mine = comm.peer_info[static_cast<std::size_t>(comm.rank)];
    ncclPeerInfo& theirs = comm.peer_info[static_cast<std::size_t>(peer)];
    for (int index = first_transport(graph, mine.rank, theirs.rank);; ++index) {
        const ncclTransport* transport = transport_at(comm.transports, index);
        if (transport == nullptr) break;
        int accepted = 0;
        const ncclResult_t asked =
            transport->canConnect(&accepted, &comm.topo, graph, &mine, &theirs);
        if (asked != ncclSuccess) return asked;
        if (accepted == 0) continue;
        connector.comm = &comm;
        connector.transportComm = D == Direction::send ? &transport->send : &transport->recv;
        return connector.transportComm->setup(&comm, graph, &mine, &theirs, &blob, &connector,
                                              channel);
    }
    log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pNoTransport, mine.cudaDev, theirs.cudaDev);
    return ncclInternalError;
}

template ncclResult_t select_transport<Direction::send>(ncclComm&, ncclTopoGraph*, int,
                                                        ncclConnect&, ncclConnector&, int);
template ncclResult_t select_transport<Direction::recv>(ncclComm&, ncclTopoGraph*, int,
                                                        ncclConnect&, ncclConnector&, int);

}  // namespace duofi::p2p
