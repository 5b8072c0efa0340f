// Which servers' devices form one pod (p2p contract 3.5). Pure functions; any thread.
#pragma once

#include "p2p/abi.h"

namespace duofi::p2p {

/// Numbers of the vendor's runtime.
enum class PodType : int { none = 0, p2p = 1, switched = 2, invalid = 3 };

/// Nodes of a switched pod are 0 to 3.
inline constexpr int kSwitchPodNodes = 4;

/// A node number that a pod of that type can have: below its size, or below kSwitchPodNodes.
[[nodiscard]] bool valid_pod_node(PodType type, int node, int size) noexcept;
/// Node at a distance around the ring of a P2P pod.
[[nodiscard]] int pod_peer(int node, int distance, int size) noexcept;

/// Both in one switched pod, with valid nodes and of the switched family.
[[nodiscard]] bool same_switch_pod(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept;
/// The same chip of neighbouring nodes of one P2P pod.
[[nodiscard]] bool pod_neighbours(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept;
/// Whether pods let two ranks of different servers reach each other: one of the two above.
[[nodiscard]] bool pod_reaches(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept;

/// Ranks of one server. `hostHash` tells virtual servers apart; routing ids of the switched family
/// carry their own server number.
[[nodiscard]] bool same_server(const ncclPeerInfo& a, const ncclPeerInfo& b) noexcept;

}  // namespace duofi::p2p
