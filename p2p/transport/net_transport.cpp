#include "p2p/transport/net_transport.hpp"

#include <memory>
#include <utility>

#include "common/abi/boundary.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_net.hpp"
#include "p2p/gate/can_connect.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/transport/blob.hpp"
#include "p2p/transport/net_context.hpp"
#include "p2p/transport/net_edge.hpp"
#include "p2p/transport/net_proxy.hpp"

namespace duofi::p2p {
namespace {

NetEdge& net_edge_of(const ncclConnector& connector) noexcept {
    return *static_cast<NetEdge*>(connector.transportResources);
}

unsigned long long bus(const ncclPeerInfo& info) noexcept {
    return static_cast<unsigned long long>(info.busId);
}

Status refused(const NetEdge& edge, const char* call, ncclResult_t result) {
    log::warn(kNetSetupLog, messages::kNetCallFailed, edge.comm->rank, call, edge.peer, edge.channel,
              static_cast<int>(result));
    if (result == ncclRemoteError) return fail(Errc::remote, call);
    return fail(result == ncclInvalidArgument ? Errc::invalid_argument : Errc::system, call);
}

Status net_can_connect(int* ret, ncclTopoSystem* topo, ncclTopoGraph*, ncclPeerInfo* me, ncclPeerInfo* peer) {
    if (ret == nullptr) return fail(Errc::invalid_argument, "canConnect");
    const bool asked = topo != nullptr && me != nullptr && peer != nullptr;
    *ret = (!asked || net_may_join(*topo, *me, *peer)) && net_devices() > 0 ? 1 : 0;
    return {};
}

Status listen(NetEdge& edge, ncclConnect& blob) {
    const ncclResult_t result =
        edge.context->api().listen(edge.device, blob.data, &edge.listener);
    return result == ncclSuccess ? Status() : refused(edge, "listen", result);
}

}  // namespace

template <Direction D>
Status net_setup(ncclComm* comm, ncclTopoGraph* /*graph*/, ncclPeerInfo* me, ncclPeerInfo* peer,
                 ncclConnect* blob, ncclConnector* connector, int channel) {
    if (comm == nullptr || me == nullptr || peer == nullptr || blob == nullptr ||
        connector == nullptr || !comm->known(peer->rank))
        return fail(Errc::invalid_argument, "setup");
    *blob = {};
    auto made = std::make_unique<NetEdge>(*comm, D);
    NetEdge& edge = *made;
    edge.channel = channel;
    edge.peer = peer->rank;
    edge.tag = D == Direction::send ? comm->rank : peer->rank;
    connector->transportResources = made.release();
    DUOFI_ASSIGN(edge.context, NetContext::of(*comm));
    edge.device = edge.context->device_for(channel);
    DUOFI_TRY(edge.make_memory());
    edge.wire(connector->conn);
    if constexpr (D == Direction::recv) return listen(edge, *blob);
    log::info(kNetSetupLog, messages::kNetSendEdge, channel, me->rank, bus(*me), peer->rank, bus(*peer),
              edge.context->name(), edge.device, "");
    return {};
}

template <Direction D>
Status net_connect(ncclComm* comm, ncclConnect* blob, int /*ranks*/, int /*rank*/,
                   ncclConnector* connector) {
    if (comm == nullptr || blob == nullptr || connector == nullptr ||
        connector->transportResources == nullptr)
        return fail(Errc::invalid_argument, "connect");
    NetEdge& edge = net_edge_of(*connector);
    if (connector->connected != 0) return fail(Errc::internal, "connect");
    if (looks_like_p2p(*blob)) {
        log::warn(kNetSetupLog, messages::kNetOtherTransport, comm->rank, edge.peer, edge.channel);
        return fail(Errc::invalid_usage, "connect");
    }
    const NetApi& api = edge.context->api();
    constexpr bool kSends = D == Direction::send;
    const ncclResult_t result = kSends
                                    ? api.connect(edge.device, blob->data, &edge.net_comm)
                                    : api.accept(edge.listener, &edge.net_comm);
    if (result != ncclSuccess) return refused(edge, kSends ? "connect" : "accept", result);
    if (edge.net_comm == nullptr) return {};
    if constexpr (!kSends) api.close_listen(std::exchange(edge.listener, nullptr));
    connector->connected = 1;
    return {};
}

Status net_free(void* resources) {
    if (resources == nullptr) return {};
    const std::unique_ptr<NetEdge> edge(static_cast<NetEdge*>(resources));
    if (edge->context == nullptr) return {};
    if (!edge->context->proxy().remove(*edge) && !edge->comm->aborted())
        log::warn(kNetSetupLog, messages::kNetNotDrained, edge->comm->rank, edge->channel, edge->peer);
    return {};
}

template Status net_setup<Direction::send>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*,
                                           ncclConnect*, ncclConnector*, int);
template Status net_setup<Direction::recv>(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*,
                                           ncclConnect*, ncclConnector*, int);
template Status net_connect<Direction::send>(ncclComm*, ncclConnect*, int, int, ncclConnector*);
template Status net_connect<Direction::recv>(ncclComm*, ncclConnect*, int, int, ncclConnector*);

namespace {

template <Direction D>
constexpr ncclTransportComm kHalf = {
    .setup = abi::entry<&net_setup<D>>,
    .connect = abi::entry<&net_connect<D>>,
    .free = abi::entry<&net_free>,
    .proxy = D == Direction::send ? abi::entry<&net_send_proxy> : abi::entry<&net_recv_proxy>,
    .allocRequest = abi::entry<&net_begin>,
    .freeRequest = abi::entry<&net_end>,
};

}  // namespace

constinit const ncclTransport net_transport = {
    .name = "NET_NEURON",
    .canConnect = abi::entry<&net_can_connect>,
    .send = kHalf<Direction::send>,
    .recv = kHalf<Direction::recv>,
};

}  // namespace duofi::p2p
