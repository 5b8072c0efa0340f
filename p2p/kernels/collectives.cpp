#include "p2p/kernels/collectives.hpp"

#include <algorithm>

#include "common/local/copy.hpp"
#include "p2p/kernels/primitives.hpp"
#include "p2p/kernels/transfer.hpp"

namespace duofi::p2p {
namespace {

std::size_t divide_up(std::size_t a, std::size_t b) noexcept {
    return (a + b - 1) / b;
}

bool divides_by_rank(RingCollective kind) noexcept {
    return kind == RingCollective::all_reduce;
}

/// One rank's part on one channel.
class RingRun {
  public:
    RingRun(const RingOperation& operation, const RingPlace& place, const KernelContext& context);
    KernelResult run();

  private:
    [[nodiscard]] std::size_t ranks() const noexcept { return place_.order.size(); }
    [[nodiscard]] std::size_t rank_after(std::size_t distance) const noexcept {
        return static_cast<std::size_t>(place_.order[distance % ranks()]);
    }
    [[nodiscard]] std::size_t in_chunk(std::size_t element) const noexcept {
        const std::size_t left = element < operation_.count ? operation_.count - element : 0;
        return std::min(left, real_chunk_);
    }
    [[nodiscard]] const std::byte* input(std::size_t element) const noexcept {
        return static_cast<const std::byte*>(operation_.input) + element * element_;
    }
    [[nodiscard]] std::byte* output(std::size_t element) const noexcept {
        return static_cast<std::byte*>(operation_.output) + element * element_;
    }
    void shape_chunks();
    [[nodiscard]] KernelResult loops();
    [[nodiscard]] KernelResult all_reduce(std::size_t base);
    [[nodiscard]] KernelResult all_gather(std::size_t base);
    [[nodiscard]] KernelResult reduce_scatter(std::size_t base);
    [[nodiscard]] KernelResult broadcast(std::size_t base);
    [[nodiscard]] KernelResult reduce_step(std::size_t element, std::size_t count, bool first);
    [[nodiscard]] KernelResult pass_on(std::size_t element, std::size_t count, bool last);

    const RingOperation& operation_;
    const RingPlace& place_;
    const KernelContext& context_;
    std::size_t element_;
    std::size_t chunk_ = 0;       // elements, at most
    std::size_t align_ = 1;       // elements
    std::size_t real_chunk_ = 0;  // of this loop
    Primitives primitives_;
};

StepShape steps_of(const RingOperation& operation) noexcept {
    return operation.kind == RingCollective::broadcast ? kSingleStep : kReductionShape;
}

OperationShape shape_of(const RingOperation& operation, std::size_t ranks) noexcept {
    OperationShape shape;
    shape.protocol = operation.protocol;
    shape.steps = steps_of(operation);
    shape.type = operation.type;
    shape.op = operation.op;
    const bool gathers = operation.kind == RingCollective::all_gather;
    shape.message_bytes = operation.count * size_of(operation.type) * (gathers ? ranks : 1);
    return shape;
}

RingRun::RingRun(const RingOperation& operation, const RingPlace& place,
                 const KernelContext& context)
    : operation_(operation),
      place_(place),
      context_(context),
      element_(size_of(operation.type)),
      primitives_(place.next, place.previous, shape_of(operation, place.order.size()), context) {
    shape_chunks();
}

void RingRun::shape_chunks() {
    const BufferSizes& sizes = place_.next->sizes();
    const Protocol protocol = operation_.protocol;
    const bool simple = protocol == Protocol::simple;
    const std::size_t steps = simple ? steps_of(operation_).unit() : 1;
    chunk_ = sizes.payload(protocol) * steps / element_;
    const std::size_t unit = simple                     ? 128
                             : protocol == Protocol::ll ? kLlLinePayload
                                                        : kLl128LinePayload;
    align_ = unit / element_;
}

KernelResult RingRun::run() {
    // No steps at all: a lent buffer would have nothing behind it that tells when it was taken.
    if (operation_.count == 0) return KernelResult::ok;
    const RingCollective kind = operation_.kind;
    const bool direct = kind == RingCollective::all_reduce || kind == RingCollective::all_gather;
    const std::size_t shares = kind == RingCollective::all_gather ? ranks() : 1;
    KernelResult result = primitives_.begin(direct, static_cast<std::byte*>(operation_.output),
                                            operation_.count * element_ * shares);
    if (result == KernelResult::ok) result = loops();
    if (result != KernelResult::ok) {
        context_.raise_abort();
        return result;
    }
    primitives_.end();
    return result;
}

KernelResult RingRun::loops() {
    const std::size_t channels = static_cast<std::size_t>(place_.channels);
    const std::size_t channel = static_cast<std::size_t>(place_.channel);
    const std::size_t parts = divides_by_rank(operation_.kind) ? ranks() : 1;
    const std::size_t loop = parts * channels * chunk_;
    for (std::size_t grid = 0; grid < operation_.count; grid += loop) {
        const std::size_t even = divide_up(operation_.count - grid, parts * channels);
        real_chunk_ = std::min(chunk_, divide_up(even, align_) * align_);
        const std::size_t base = grid + channel * parts * real_chunk_;
        KernelResult result = KernelResult::ok;
        switch (operation_.kind) {
            case RingCollective::all_reduce:
                result = all_reduce(base);
                break;
            case RingCollective::all_gather:
                result = all_gather(base);
                break;
            case RingCollective::reduce_scatter:
                result = reduce_scatter(base);
                break;
            case RingCollective::broadcast:
                result = broadcast(base);
                break;
        }
        if (result != KernelResult::ok) return result;
    }
    return KernelResult::ok;
}

/// Sends own elements, or adds them to what comes and passes that on.
KernelResult RingRun::reduce_step(std::size_t element, std::size_t count, bool first) {
    ChunkMove move;
    move.source = input(element);
    move.count = count;
    move.receive = !first;
    move.send = true;
    return primitives_.run(move);
}

/// Takes finished elements into the output and, but for the last rank, passes them on.
KernelResult RingRun::pass_on(std::size_t element, std::size_t count, bool last) {
    ChunkMove move;
    move.output = output(element);
    move.count = count;
    move.receive = move.direct_receive = true;
    move.send = move.direct_send = !last;
    move.offset = element * element_;
    return primitives_.run(move);
}

/// Part k of the loop goes round twice: from rank k+1 to rank k, growing, and from there on,
/// finished.
KernelResult RingRun::all_reduce(std::size_t base) {
    const std::size_t n = ranks();
    const auto start = [&](std::size_t distance) {
        return base + rank_after(distance) * real_chunk_;
    };
    for (std::size_t j = 1; j < n; ++j) {
        const std::size_t element = start(n - j);
        const KernelResult result = reduce_step(element, in_chunk(element), j == 1);
        if (result != KernelResult::ok) return result;
    }
    ChunkMove whole;
    whole.source = input(start(0));
    whole.output = output(start(0));
    whole.count = in_chunk(start(0));
    whole.receive = whole.send = whole.direct_send = true;
    whole.offset = start(0) * element_;
    if (const KernelResult result = primitives_.run(whole); result != KernelResult::ok)
        return result;
    for (std::size_t j = 1; j < n; ++j) {
        const std::size_t element = start(n - j);
        const KernelResult result = pass_on(element, in_chunk(element), j == n - 1);
        if (result != KernelResult::ok) return result;
    }
    return KernelResult::ok;
}

KernelResult RingRun::all_gather(std::size_t base) {
    const std::size_t n = ranks(), count = in_chunk(base);
    const auto place = [&](std::size_t distance) {
        return base + rank_after(distance) * operation_.count;
    };
    ChunkMove own;
    own.source = input(base);
    own.output = output(place(0));
    if (own.source == own.output) own.output = nullptr;
    own.count = count;
    own.send = own.direct_send = true;
    own.offset = place(0) * element_;
    if (const KernelResult result = primitives_.run(own); result != KernelResult::ok) return result;
    for (std::size_t j = 1; j < n; ++j) {
        const KernelResult result = pass_on(place(n - j), count, j == n - 1);
        if (result != KernelResult::ok) return result;
    }
    return KernelResult::ok;
}

KernelResult RingRun::reduce_scatter(std::size_t base) {
    const std::size_t n = ranks(), count = in_chunk(base);
    const auto place = [&](std::size_t distance) {
        return base + rank_after(distance) * operation_.count;
    };
    for (std::size_t j = 1; j < n; ++j) {
        const KernelResult result = reduce_step(place(n - j), count, j == 1);
        if (result != KernelResult::ok) return result;
    }
    ChunkMove last;
    last.source = input(place(0));
    last.output = output(base);
    last.count = count;
    last.receive = true;
    return primitives_.run(last);
}

KernelResult RingRun::broadcast(std::size_t base) {
    const int root = operation_.root;
    ChunkMove move;
    move.count = in_chunk(base);
    move.output = output(base);
    if (place_.order[0] == root) {
        move.source = input(base);
        if (move.source == move.output) move.output = nullptr;
        move.send = true;
    } else {
        move.receive = true;
        move.send = place_.order[1] != root;
    }
    return primitives_.run(move);
}

}  // namespace

std::size_t edge_bytes(const RingOperation& operation, std::size_t ranks) noexcept {
    const std::size_t bytes = operation.count * size_of(operation.type);
    return operation.kind == RingCollective::all_reduce ? divide_up(bytes, ranks) : bytes;
}

KernelResult run_ring(const RingOperation& operation, const RingPlace& place,
                      const KernelContext& context) {
    return RingRun(operation, place, context).run();
}

void run_alone(const RingOperation& operation) noexcept {
    if (operation.input && operation.input != operation.output && operation.count > 0)
        local::copy(operation.output, operation.input, operation.count * size_of(operation.type));
}

Part part_of(std::size_t bytes, int channel, int channels) noexcept {
    constexpr std::size_t kUnit = 128;
    const std::size_t each =
        divide_up(divide_up(bytes, static_cast<std::size_t>(channels)), kUnit) * kUnit;
    const std::size_t offset = std::min(bytes, each * static_cast<std::size_t>(channel));
    return {offset, std::min(each, bytes - offset)};
}

/// One distance after the other: a thread has two messages under way and no list to allocate.
KernelResult run_all_to_all(const void* input, void* output, std::size_t bytes, Protocol protocol,
                            const AllToAllPlace& place, const KernelContext& context) {
    const auto* in = static_cast<const std::byte*>(input);
    auto* out = static_cast<std::byte*>(output);
    const std::size_t ranks = place.sends.size(), rank = static_cast<std::size_t>(place.rank);
    const Part part = part_of(bytes, place.channel, place.channels);
    if (place.channel == 0 && bytes > 0) local::copy(out + rank * bytes, in + rank * bytes, bytes);
    for (std::size_t distance = 1; distance < ranks; ++distance) {
        const std::size_t to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
        SendLink& next = *place.sends[to];
        RecvLink& previous = *place.receives[from];
        next.begin(1);
        previous.begin(1);
        SendTransfer send(next, in + to * bytes + part.offset, part.bytes, protocol);
        RecvTransfer receive(previous, out + from * bytes + part.offset, part.bytes, protocol);
        const KernelResult result = run_transfers({&send, 1}, {&receive, 1}, context);
        if (result != KernelResult::ok) return result;
    }
    return KernelResult::ok;
}

}  // namespace duofi::p2p
