#include "p2p/gate/pods.hpp"

#include "p2p/gate/neuron_torus.hpp"

namespace duofi::p2p {
namespace {

bool switched(const ncclPeerInfo& info) noexcept {
    return static_cast<NeuronFamily>(info.instanceFamily) == NeuronFamily::trn3_switch;
}

bool one_pod(const ncclPeerInfo& a, const ncclPeerInfo& b, PodType type) noexcept {
    const auto member = [type](const ncclPeerInfo& info) {
        return static_cast<PodType>(info.podType) == type &&
               valid_pod_node(type, info.podNode, info.podSize);
    };
    return member(a) && member(b) && a.podId == b.podId;
}

int server_number(const ncclPeerInfo& info) noexcept {
    return switched(info) && info.routingId >= 0 ? server_of_routing_id(info.routingId) : 0;
}

}  // namespace

bool valid_pod_node(PodType type, int node, int size) noexcept {
    if (type != PodType::p2p && type != PodType::switched) return false;
    return node >= 0 && node < (type == PodType::switched ? kSwitchPodNodes : size);
}

int pod_peer(int node, int distance, int size) noexcept {
    return size < 1 ? -1 : ((node + distance) % size + size) % size;
}

bool same_switch_pod(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept {
    return one_pod(a, b, PodType::switched) && switched(a) && switched(b);
}

bool pod_neighbours(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept {
    if (!one_pod(a, b, PodType::p2p) || a.podSize != b.podSize) return false;
    if (a.mlaIndex < 0 || a.mlaIndex != b.mlaIndex || a.podNode == b.podNode) return false;
    return pod_peer(a.podNode, 1, a.podSize) == b.podNode ||
           pod_peer(b.podNode, 1, a.podSize) == a.podNode;
}

bool pod_reaches(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept {
    return same_switch_pod(a, b) || pod_neighbours(a, b);
}

bool same_server(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept {
    return a.hostHash == b.hostHash && server_number(a) == server_number(b);
}

}  // namespace duofi::p2p
