// The pass of the proxy thread over one rmaCtx.
#include <sched.h>

#include "common/gin/proxy_context.hpp"

namespace duofi::gin {
namespace {

constexpr int kReadsBeforeYield = 64;

std::uint32_t operation_of(const Descriptor& descriptor) noexcept {
    return descriptor.has(op_signal_inc) ? NCCL_NET_SIGNAL_OP_INC : NCCL_NET_SIGNAL_OP_ADD;
}

}  // namespace

Pass ProxyContext::progress() {
    if (failed_.load(std::memory_order_relaxed)) return Pass::failed;
    pauses_.maybe();
    const std::uint64_t before_pass = counts_.descriptors;
    for (int context = 0; context < shape_.contexts; ++context)
        if (!complete(context) || !take_new(context)) return Pass::failed;
    // The callers ignore what it returns.
    static_cast<void>(client_.table().progress(context_.get()));
    return outstanding_ == 0 && counts_.descriptors == before_pass ? Pass::idle : Pass::busy;
}

bool ProxyContext::complete(int context) {
    for (int peer = 0; peer < members().size(); ++peer)
        if (!complete_ring(context, peer)) return false;
    return true;
}

/// Every unfinished request is tested; the consumer index follows over what is done from the head
/// on.
bool ProxyContext::complete_ring(int context, int peer) {
    Lane& lane = lanes_[static_cast<std::size_t>(context)];
    std::uint32_t& head = lane.shadow[static_cast<std::size_t>(peer)];
    const std::uint32_t end = lane.seen[static_cast<std::size_t>(peer)];
    const std::uint32_t start = head;
    for (std::uint32_t index = start; index != end; ++index) {
        Slot& state = slot(lane, peer, index);
        const Place place{context, peer, index};
        if (!state.done && !test(state, place)) return false;
        if (state.done && index == head) ++head;
    }
    if (head != start) lane.queues->publish_consumed(peer, head);
    return true;
}

bool ProxyContext::test(Slot& state, const Place& place) {
    int done = 0;
    ++counts_.tests;
    const ncclResult_t result = client_.table().test(connection_.group.get(), state.request, &done);
    if (result != ncclSuccess) return fail_with(result, "test", place);
    if (done != 0) note_done(state, place);
    return true;
}

void ProxyContext::note_done(Slot& state, const Place& place) {
    const Descriptor& descriptor = state.descriptor;
    state.done = true;
    --outstanding_;
    ++counts_.completions;
    if (descriptor.has(op_counter)) {
        // Only the proxy writes counters.
        auto word = counter(place.context, static_cast<int>(descriptor.counter));
        word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    if (observers_.trace == nullptr) return;
    observers_.trace->add(
        {descriptor.op, state.hinted,
         static_cast<std::uint32_t>(context_number(place.context)),
         static_cast<std::uint32_t>(members().rank_of(place.peer)), descriptor.bytes, state.begin,
         now_ns()});
}

bool ProxyContext::take_new(int context) {
    Lane& lane = lanes_[static_cast<std::size_t>(context)];
    for (int peer = 0; peer < members().size(); ++peer)
        for (int taken = 0; taken < shape_.poll_batch; ++taken) {
            const std::uint32_t index = lane.seen[static_cast<std::size_t>(peer)];
            if (!lane.queues->is_written(peer, index)) break;
            const Place place{context, peer, index};
            if (!take_one(place, taken + 1 == shape_.poll_batch)) return false;
        }
    return true;
}

bool ProxyContext::take_one(const Place& place, bool last_of_batch) {
    Lane& lane = lanes_[static_cast<std::size_t>(place.context)];
    PackedDescriptor packed;
    if (!wait_for_rest(place, packed)) return false;
    pauses_.maybe();
    Slot& state = slot(lane, place.peer, place.index);
    state = {};
    state.descriptor = unpack(packed);
    const std::uint32_t next = ++lane.seen[static_cast<std::size_t>(place.peer)];
    state.hinted = !last_of_batch && lane.queues->is_written(place.peer, next);
    ++counts_.descriptors;
    ++outstanding_;
    if (state.hinted) ++counts_.hinted;
    if (observers_.trace != nullptr) state.begin = now_ns();
    if (observers_.recorder != nullptr)
        observers_.recorder->add(
            static_cast<std::uint32_t>(context_number(place.context)),
            static_cast<std::uint32_t>(members().rank_of(place.peer)), packed);
    return dispatch(
        state, place,
        state.hinted ? NCCL_RMA_OPT_FLAGS_AGGREGATE_REQUESTS : NCCL_RMA_OPT_FLAGS_DEFAULT);
}

bool ProxyContext::wait_for_rest(const Place& place, PackedDescriptor& packed) {
    Queues& rings = *lanes_[static_cast<std::size_t>(place.context)].queues;
    for (int i = 0; i < kReadsBeforeYield; ++i)
        if (rings.take(place.peer, place.index, packed)) return true;
    const Deadline deadline(shape_.write_limit);
    while (!rings.take(place.peer, place.index, packed)) {
        if (deadline.passed()) return fail_with(ncclInternalError, "descriptor", place);
        ::sched_yield();
    }
    return true;
}

bool ProxyContext::dispatch(Slot& state, const Place& place, std::uint32_t flags) {
    const Descriptor& descriptor = state.descriptor;
    if (descriptor.has(op_counter) &&
        descriptor.counter >= static_cast<std::uint32_t>(shape_.counters))
        return fail_with(ncclInvalidArgument, "counter", place);
    if (descriptor.has(op_put) && descriptor.signals() &&
        descriptor.signal >= static_cast<std::uint32_t>(signals_per_context()))
        return fail_with(ncclInvalidArgument, "signal", place);
    const char* name = "descriptor";
    const ncclResult_t result = call(state, place, flags, name);
    if (result != ncclSuccess) return fail_with(result, name, place);
    if (state.request != nullptr) return true;
    if (descriptor.has(op_flush))
        note_done(state, place);
    else if (shape_.strict)
        return fail_with(ncclInternalError, name, place);
    return true;
}

/// The first condition that fits decides (rma contract 4.4).
ncclResult_t ProxyContext::call(Slot& state, const Place& place, std::uint32_t flags,
                                const char*& name) {
    const Descriptor& d = state.descriptor;
    const loader::RmaTable& table = client_.table();
    const auto rank = static_cast<std::uint32_t>(place.peer);
    if (d.has(op_va_signal)) {
        name = "iputSignal";
        const loader::RmaPut nothing{place.context, 0, nullptr, 0, 0, nullptr, rank, flags};
        return table.iput_signal(
            context_.get(), nothing,
            {d.src_offset, handle_of(d.src_handle), d.signal_value, operation_of(d), d.strong},
            &state.request);
    }
    if (d.has(op_get)) {
        name = "iget";
        return table.iget(context_.get(),
                          {place.context, d.src_offset, handle_of(d.src_handle), d.bytes,
                           d.dst_offset, handle_of(d.dst_handle), rank, flags},
                          &state.request);
    }
    if (d.has(op_flush)) {
        name = "iflush";
        return table.iflush(context_.get(), place.context, signal_window_.get(), rank,
                            &state.request);
    }
    if (d.has(op_put)) return call_put(state, place, flags, name);
    return ncclInternalError;
}

ncclResult_t ProxyContext::call_put(Slot& state, const Place& place, std::uint32_t flags,
                                    const char*& name) {
    const Descriptor& d = state.descriptor;
    Lane& lane = lanes_[static_cast<std::size_t>(place.context)];
    loader::RmaPut put{place.context,
                       d.src_offset,
                       handle_of(d.src_handle),
                       d.bytes,
                       d.dst_offset,
                       handle_of(d.dst_handle),
                       static_cast<std::uint32_t>(place.peer),
                       flags};
    if (d.has(op_inline)) {
        const auto cell = static_cast<std::size_t>(&state - lane.slots.data());
        lane.inlines[cell] = d.inline_value;
        put.src_offset = 8 * cell;
        put.src = lane.inline_window.get();
    }
    if (!d.signals()) {
        name = "iput";
        return client_.table().iput(context_.get(), put, &state.request);
    }
    name = "iputSignal";
    const auto word = static_cast<std::uint64_t>(place.context) *
                          static_cast<std::uint64_t>(signals_per_context()) +
                      d.signal;
    return client_.table().iput_signal(
        context_.get(), put,
        {8 * word, signal_window_.get(), d.signal_value, operation_of(d), d.strong},
        &state.request);
}

}  // namespace duofi::gin
