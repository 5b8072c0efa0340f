#include "p2p/transport/net_steps.hpp"

namespace duofi::p2p {
namespace {

/// Chunks that go to the next rank, and come from the one before, in one loop over the ring.
struct Moves {
    std::uint64_t sent = 0, received = 0;
};

Moves moves_of(const RingOperation& operation, std::span<const int> order) noexcept {
    const std::uint64_t ranks = order.size();
    switch (operation.kind) {
        case RingCollective::all_reduce:
            return {2 * ranks - 2, 2 * ranks - 2};
        case RingCollective::all_gather:
        case RingCollective::reduce_scatter:
            return {ranks - 1, ranks - 1};
        case RingCollective::broadcast:
            return {order[1] == operation.root ? 0U : 1U, order[0] == operation.root ? 0U : 1U};
    }
    return {};
}

}  // namespace

RingWork ring_work(const RingOperation& operation, std::span<const int> order, int channels,
                   const BufferSizes& sizes) noexcept {
    if (operation.count == 0 || order.size() < 2) return {};
    const bool simple = operation.protocol == Protocol::simple;
    const bool broadcast = operation.kind == RingCollective::broadcast;
    const StepShape shape = simple && !broadcast ? kReductionShape : kSingleStep;
    const std::size_t chunk =
        sizes.payload(operation.protocol) * shape.unit() / size_of(operation.type);
    const std::size_t parts = operation.kind == RingCollective::all_reduce ? order.size() : 1;
    const std::size_t loop = parts * static_cast<std::size_t>(channels) * chunk;
    const std::uint64_t loops = (operation.count + loop - 1) / loop;
    const Moves moves = moves_of(operation, order);
    const auto chunk_steps = static_cast<std::uint32_t>(shape.unit());
    const auto work = [&](std::uint64_t chunks) {
        return NetWork{operation.protocol, loops * chunks * shape.unit(), shape.steps_per_slice,
                       chunk_steps};
    };
    return {work(moves.sent), work(moves.received)};
}

NetWork transfer_work(std::size_t bytes, Protocol protocol, const BufferSizes& sizes) noexcept {
    const std::size_t chunk = transfer_chunk(bytes, sizes, protocol);
    return {protocol, bytes <= chunk ? 1 : (bytes + chunk - 1) / chunk, 1, 1};
}

}  // namespace duofi::p2p
