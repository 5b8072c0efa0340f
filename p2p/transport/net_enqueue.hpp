// What operations do for edges that have a proxy, before their kernels run: one proxy operation per
// edge and direction (C-60). Edges without a proxy cost one look. The thread that uses the
// communicator.
#pragma once

#include <span>

#include "common/util/error.hpp"
#include "p2p/transport/comm.hpp"
#include "p2p/transport/net_steps.hpp"

namespace duofi::p2p {

/// Whether a proxy carries the steps of this connector: links of it say so to their kernels.
[[nodiscard]] inline bool proxied(const ncclConnector& connector) noexcept {
    return connector.transportComm != nullptr && connector.transportComm->proxy != nullptr;
}

/// Of the operation as it will run: protocol and channels are chosen, connectors are connected.
/// Errors: those of NetProxy::post, Errc::system when the plugin refuses the buffers.
[[nodiscard]] Status enqueue_ring(ncclComm& comm, const RingOperation& operation, int channels);

/// Messages to and from single ranks; the part of each channel follows from the bytes.
struct EdgeMessage {
    int peer = -1;  ///< -1: none
    std::size_t bytes = 0;
    Protocol protocol = Protocol::simple;
    int channels = 0;
};
[[nodiscard]] Status enqueue_transfer(ncclComm& comm, const EdgeMessage& out,
                                      const EdgeMessage& in);

/// `message` without its peer: the same to and from all of `peers`.
[[nodiscard]] Status enqueue_all_to_all(ncclComm& comm, const EdgeMessage& message,
                                        std::span<const int> peers);

}  // namespace duofi::p2p
