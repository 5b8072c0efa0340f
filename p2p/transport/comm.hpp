// What the transport functions see of a communicator: the `comm` of p2p/abi.h. Owned by
// Communicator; used by one thread at a time, except the two words at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "common/util/clock.hpp"
#include "common/util/host_identity.hpp"
#include "p2p/abi.h"
#include "p2p/gate/can_connect.hpp"
#include "p2p/runtime/relay_address.hpp"
#include "p2p/transport/bootstrap.hpp"
#include "p2p/transport/sizes.hpp"

namespace duofi::p2p {

/// A rank, channel or direction as an index.
[[nodiscard]] constexpr std::size_t at(int index) noexcept {
    return static_cast<std::size_t>(index);
}

/// How edges are set up; equal on all ranks.
struct EdgeOptions {
    bool self = false;            ///< ranks may have connectors to themselves (T-2)
    bool trailer = true;          ///< blobs carry one
    bool relay = false;           ///< free gives relay buffers back instead of refusing them (C-25)
    bool debug_sizes = false;     ///< kernels see sizesFifo (T-7)
    Nanoseconds timeout = 60 * kSecond;  ///< of one wait for a peer
};

/// Direction of a connector, as blobs carry it.
enum class Direction : std::uint32_t { send = 0, recv = 1 };

}  // namespace duofi::p2p

struct ncclComm {
    int rank = 0;
    int n_ranks = 1;
    duofi::p2p::Bootstrap* bootstrap = nullptr;
    std::vector<ncclPeerInfo> peer_info;           ///< by rank
    std::vector<duofi::HostIdentity> processes;    ///< by rank
    std::vector<duofi::p2p::RelayAddress> relays;  ///< by rank
    std::vector<ncclChannel> channels;
    std::vector<std::uint32_t> connect_send;  ///< by peer: bit per channel to be connected
    std::vector<std::uint32_t> connect_recv;
    duofi::p2p::BufferSizes buff_sizes{};
    duofi::p2p::EdgeOptions options;
    ncclTopoSystem topo;
    const ncclTransport* const* transports = ncclTransports;  ///< NTRANSPORTS entries
    std::vector<std::uint64_t> epochs;  ///< by peer: set-ups that both took part in

    std::uint32_t abort_flag = 0;  ///< any thread, through std::atomic_ref; kernels poll it
    std::int32_t dead_rank = -1;   ///< the same; first rank of this node that died

    [[nodiscard]] bool aborted() const noexcept {
        return std::atomic_ref(const_cast<std::uint32_t&>(abort_flag)).load() != 0;
    }
    void abort() noexcept { std::atomic_ref(abort_flag).store(1); }
    [[nodiscard]] int lost_rank() const noexcept {
        return std::atomic_ref(const_cast<std::int32_t&>(dead_rank)).load();
    }
    [[nodiscard]] bool known(int peer) const noexcept { return peer >= 0 && peer < n_ranks; }
};
