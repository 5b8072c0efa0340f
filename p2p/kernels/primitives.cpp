#include "p2p/kernels/primitives.hpp"

#include <algorithm>

namespace duofi::p2p {
namespace {

// Two results of one chunk are made in pieces that stay in the nearest cache in between.
constexpr std::size_t kPiece = 16384;

// Payload of a block that is staged between lines and buffers: whole lines of either kind, and
// small enough to stay near.
constexpr std::size_t kLlBlock = 256 * kLlLinePayload;
constexpr std::size_t kLl128Block = 16 * kLl128LinePayload;
constexpr std::size_t kBlock = std::max(kLlBlock, kLl128Block);

}  // namespace

Primitives::Primitives(SendLink* next, RecvLink* previous, const OperationShape& shape,
                       const KernelContext& context) noexcept
    : next_(next),
      previous_(previous),
      shape_(shape),
      context_(context),
      combine_(combine_function(shape.type, shape.op)),
      element_(size_of(shape.type)) {}

KernelResult Primitives::begin(bool direct, std::byte* output, std::size_t output_bytes) {
    const bool simple = shape_.protocol == Protocol::simple;
    if (!simple) shape_.steps = kSingleStep;
    if (previous_) {
        previous_->begin(shape_.steps.unit());
        lent_ = direct && simple && previous_->direct();
        if (lent_) previous_->offer(output, output_bytes);
    }
    if (next_) {
        next_->begin(shape_.steps.unit());
        if (direct && simple && next_->direct()) {
            Waiter waiter(context_);
            return next_->await_offer(borrowed_, waiter);
        }
    }
    return KernelResult::ok;
}

void Primitives::end() noexcept {
    if (next_) next_->finish();
    if (previous_) previous_->finish();
}

KernelResult Primitives::run(const ChunkMove& move) {
    return shape_.protocol == Protocol::simple ? run_simple(move) : run_lines(move);
}

/// Pointers of one slice, already at its place. NULL: not part of this move.
struct Primitives::Slice {
    const std::byte* received = nullptr;
    const std::byte* source = nullptr;
    std::byte* output = nullptr;
    std::byte* sent = nullptr;
    bool sent_is_final = false;  ///< the neighbour's output, not a slot
    std::size_t bytes = 0;
};

KernelResult Primitives::await(const ChunkMove& move, std::size_t bytes) {
    const std::uint64_t n = shape_.steps.steps_per_slice;
    Waiter waiter(context_);
    KernelResult result = KernelResult::ok;
    if (move.receive) {
        result = previous_->await_data(n, waiter);
        if (result == KernelResult::ok) result = previous_->check_size(bytes, waiter);
    }
    if (result == KernelResult::ok && move.send) {
        waiter.progressed();
        result = next_->await_credit(n, waiter);
    }
    return result;
}

KernelResult Primitives::neighbour_output(const ChunkMove& move, std::size_t place,
                                          std::size_t bytes, std::byte*& target) const {
    const std::size_t begin = move.offset + place;
    if (bytes > 0 && (begin > borrowed_.bytes || bytes > borrowed_.bytes - begin))
        return KernelResult::size_mismatch;
    target = reinterpret_cast<std::byte*>(borrowed_.address) + begin;
    return KernelResult::ok;
}

void Primitives::move_slice(const Slice& slice) const {
    const std::size_t message = shape_.message_bytes, threshold = context_.streaming_threshold;
    const bool both = slice.output && slice.sent;
    const std::size_t piece = both ? kPiece : slice.bytes;
    for (std::size_t done = 0; done < slice.bytes; done += piece) {
        const std::size_t n = std::min(piece, slice.bytes - done);
        std::byte* first = (slice.output ? slice.output : slice.sent) + done;
        const std::byte* from = (slice.received ? slice.received : slice.source) + done;
        if (slice.received && slice.source)
            combine_(first, slice.received + done, slice.source + done, n / element_);
        else if (first != from && (both || (!slice.output && !slice.sent_is_final)))
            local::copy_cached(first, from, n);
        else if (first != from && slice.received && message < threshold)
            local::copy_handed_over(first, from, n);
        else if (first != from)
            local::copy(first, from, n, message, threshold);
        if (both && slice.sent_is_final)
            local::copy(slice.sent + done, first, n, message, threshold);
        else if (both)
            local::copy_cached(slice.sent + done, first, n);
    }
}

KernelResult Primitives::run_simple(const ChunkMove& move) {
    const BufferSizes& sizes = next_ ? next_->sizes() : previous_->sizes();
    const std::size_t per_slice =
        slice_elements(move.count, sizes.slot(Protocol::simple) / element_, shape_.steps);
    const std::uint64_t n = shape_.steps.steps_per_slice;
    std::size_t done = 0;  // elements
    for (std::uint32_t i = 0; i < shape_.steps.slices_per_chunk; ++i) {
        const std::size_t count = std::min(per_slice, move.count - done);
        const std::size_t place = done * element_, bytes = count * element_;
        if (const KernelResult result = await(move, bytes); result != KernelResult::ok)
            return result;
        Slice slice;
        slice.bytes = bytes;
        if (move.source) slice.source = move.source + place;
        if (move.output) slice.output = move.output + place;
        if (move.receive)
            slice.received =
                lent_ && move.direct_receive ? slice.output : previous_->room(bytes, n);
        if (move.send) {
            slice.sent = next_->room(bytes, n);
            slice.sent_is_final = borrowed_.address != 0 && move.direct_send;
            if (slice.sent_is_final)
                if (const KernelResult result = neighbour_output(move, place, bytes, slice.sent);
                    result != KernelResult::ok)
                    return result;
        }
        move_slice(slice);
        if (move.send) next_->publish(n, bytes);
        if (move.receive) previous_->release(n);
        done += count;
    }
    return KernelResult::ok;
}

KernelResult Primitives::read_block(std::uint64_t* lines, void* block, std::size_t done,
                                    std::size_t bytes) {
    Waiter waiter(context_);
    if (shape_.protocol == Protocol::ll) {
        lines += done / kLlLinePayload * 2;
        return ll_read<HardwareMemory>(lines, block, bytes, previous_->ll().flag(previous_->step()),
                                       waiter);
    }
    lines += done / kLl128LinePayload * kLl128LineWords;
    return ll128_read<HardwareMemory>(lines, block, bytes, ll128_flag(previous_->step()), waiter);
}

void Primitives::write_block(std::uint64_t* lines, const void* block, std::size_t done,
                             std::size_t bytes) {
    if (shape_.protocol == Protocol::ll) {
        lines += done / kLlLinePayload * 2;
        return ll_write<HardwareMemory>(lines, block, bytes, next_->ll().flag(next_->step()));
    }
    lines += done / kLl128LinePayload * kLl128LineWords;
    ll128_write<HardwareMemory>(lines, block, bytes, ll128_flag(next_->step()));
}

KernelResult Primitives::run_block(const ChunkMove& move, const Lines& lines, std::size_t done,
                                   std::size_t bytes) {
    alignas(64) std::byte staged[kBlock];
    const std::byte* data = move.source ? move.source + done : nullptr;
    if (move.receive) {
        const bool straight = !move.source && !move.send;
        std::byte* to = straight ? move.output + done : staged;
        if (const KernelResult result = read_block(lines.received, to, done, bytes);
            result != KernelResult::ok)
            return result;
        if (straight) return KernelResult::ok;
        if (move.source) combine_(staged, staged, move.source + done, bytes / element_);
        data = staged;
    }
    if (move.send) write_block(lines.sent, data, done, bytes);
    if (move.output && bytes > 0 && move.output + done != data)
        local::copy_cached(move.output + done, data, bytes);
    return KernelResult::ok;
}

/// A chunk is one step.
KernelResult Primitives::run_lines(const ChunkMove& move) {
    const std::size_t bytes = move.count * element_;
    Waiter waiter(context_);
    if (move.send) {
        const KernelResult result = next_->await_credit(1, waiter);
        if (result != KernelResult::ok) return result;
        next_->announce(shape_.protocol, bytes);
        waiter.progressed();
    }
    if (move.receive) {
        const KernelResult result = previous_->check_size(bytes, waiter);
        if (result != KernelResult::ok) return result;
    }
    const std::size_t block = shape_.protocol == Protocol::ll ? kLlBlock : kLl128Block;
    Lines lines;
    if (move.send) lines.sent = next_->lines(shape_.protocol, bytes);
    if (move.receive) lines.received = previous_->lines(shape_.protocol, bytes);
    std::size_t done = 0;
    do {
        const KernelResult result = run_block(move, lines, done, std::min(block, bytes - done));
        if (result != KernelResult::ok) return result;
        done += block;
    } while (done < bytes);
    if (move.send) next_->finish_lines(shape_.protocol, bytes);
    if (move.receive) previous_->release(1);
    return KernelResult::ok;
}

}  // namespace duofi::p2p
