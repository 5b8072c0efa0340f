#include <cstdlib>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/edge.hpp"
#include "p2p/transport/p2p_transport.hpp"

namespace duofi::p2p {
namespace {

void keep_first(Status& first, const Status& next) {
    if (first) first = next;
}

/// Where the buffers of a protocol begin and end in the memory of one end; empty if they are not
/// there.
struct Range {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

Range range_of(const BufferSizes& sizes, int protocol) {
    Range range{offsetof(ncclRecvMem, buff), sizes.bytes[static_cast<std::size_t>(protocol)]};
    for (int before = 0; before < protocol; ++before)
        range.offset += sizes.bytes[static_cast<std::size_t>(before)];
    return range;
}

}  // namespace

Status p2p_free(void* resources) {
    if (resources == nullptr) return {};
    auto* edge = static_cast<Edge*>(resources);
    Status first;
    keep_first(first, unmap(edge->peers));
    keep_first(first, unmap(edge->own));
    if (edge->base.remoteId != -1) {
        if (!edge->relay_support) {
            log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pRelaySentinel, edge->base.remoteId);
            std::abort();
        }
        keep_first(first, runtime::remote_free(edge->base.remoteId));
        edge->base.devMem = nullptr;
    }
    if (edge->base.devMem != nullptr) keep_first(first, runtime::free(edge->base.devMem));
    delete edge;
    return first;
}

Status reserve_buffers(const ncclComm& comm, ncclConnector& connector, int protocol) {
    Edge& edge = edge_of(connector);
    const unsigned bit = 1U << protocol;
    if ((edge.reserved & bit) != 0) return {};
    const bool pulled = protocol == NCCL_PROTO_SIMPLE && edge.read;
    const bool sends = edge.direction == Direction::send;
    // In read mode the SIMPLE buffer is all that a sender's memory holds.
    Range range = pulled
                      ? Range{offsetof(ncclSendMem, buff), comm.buff_sizes.bytes[NCCL_PROTO_SIMPLE]}
                      : range_of(comm.buff_sizes, protocol);
    void* memory = sends == pulled ? edge.base.devMem : edge.peers.memory;
    DUOFI_TRY(runtime::reserve(static_cast<std::byte*>(memory) + range.offset, range.bytes));
    edge.reserved |= bit;
    return {};
}

Status end_export(const ncclConnector& connector) {
    const Edge& edge = edge_of(connector);
    if (edge.mode != WireMode::ipc) return {};
    return runtime::end_exports(edge.base.devMem);
}

}  // namespace duofi::p2p
