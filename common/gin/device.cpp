#include "common/gin/device.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "common/util/log.hpp"
#include "common/util/messages/gin.hpp"

namespace duofi::gin {
namespace {

/// Rolling compare of 64-bit counts.
bool reached(std::uint64_t value, std::uint64_t least) noexcept {
    return static_cast<std::int64_t>(value - least) >= 0;
}

const Window kNoWindow;

}  // namespace

const char* to_string(GinStatus status) noexcept {
    switch (status) {
        case GinStatus::done:
            return "done";
        case GinStatus::timed_out:
            return "timed out";
        case GinStatus::failed:
            return "the proxy has failed";
        case GinStatus::bad_argument:
            return "bad argument";
    }
    return "unknown";
}

template <typename Ready>
GinStatus Device::wait(Ready&& ready) const {
    if (ready()) return GinStatus::done;
    const Deadline deadline(options_->limit);
    while (!ready()) {
        if (part_->failed()) return GinStatus::failed;
        if (deadline.passed()) return GinStatus::timed_out;
        ::sched_yield();
    }
    return GinStatus::done;
}

template <typename Ready>
GinStatus Device::wait_for(int member, const char* what, Ready&& ready) const {
    const GinStatus status = wait(ready);
    if (status != GinStatus::timed_out) return status;
    const Queues& rings = part_->queues(context_);
    log::warn(log::net, messages::kGinWaitTimedOut, what, members().rank_of(member), rank(),
              part_->context_number(context_), rings.produced(member) - rings.consumed(member),
              options_->limit / kMillisecond);
    return status;
}

int Device::rank() const noexcept {
    return members().rank_of(members().own());
}

GinStatus Device::post(int peer, const PackedDescriptor& packed) {
    Queues& rings = part_->queues(context_);
    if (peer < 0 || peer >= rings.peers()) return GinStatus::bad_argument;
    if (part_->failed()) return GinStatus::failed;
    part_->pauses().maybe();
    const std::uint32_t index = rings.reserve(peer);
    part_->pauses().maybe();
    const GinStatus credit = wait_for(peer, "credit", [&] { return rings.has_credit(peer, index); });
    if (credit != GinStatus::done) return credit;
    rings.write(peer, index, packed);
    if ((packed.words[7] >> 8 & op_get) != 0) rings.note_get(peer, index + 1);
    return GinStatus::done;
}

GinStatus Device::post(int peer, const Descriptor& descriptor) {
    return post(peer, pack(descriptor));
}

bool Device::set_signal(Descriptor& descriptor, const Signal& signal) const noexcept {
    if (signal.kind != Signal::Kind::indexed) return true;
    if (signal.id >= static_cast<std::uint32_t>(part_->signals_per_context())) return false;
    descriptor.op |= signal.add ? op_signal_add : op_signal_inc;
    descriptor.signal = signal.id;
    descriptor.signal_value = signal.value;
    descriptor.strong = signal.strong;
    return true;
}

bool Device::set_counter(Descriptor& descriptor, int counter) const noexcept {
    if (counter == kNoCounter) return true;
    if (counter < 0 || counter >= part_->shape().counters) return false;
    descriptor.op |= op_counter;
    descriptor.counter = static_cast<std::uint32_t>(counter);
    return true;
}

GinStatus Device::post_address_signal(int peer, const Signal& signal) {
    if (signal.kind != Signal::Kind::address) return GinStatus::done;
    Descriptor descriptor;
    descriptor.op = op_va_signal;
    descriptor.op |= signal.add ? op_signal_add : op_signal_inc;
    descriptor.src_offset = signal.offset;
    descriptor.src_handle =
        handle_bits(signal.window.handles[static_cast<std::size_t>(connection_)]);
    descriptor.signal_value = signal.value;
    descriptor.strong = signal.strong;
    return post(peer, descriptor);
}

GinStatus Device::put(int peer, Place dst, Place src, std::uint64_t bytes, const Signal& signal,
                      int counter) {
    const int member = members().member_of(peer);
    const auto line = static_cast<std::size_t>(connection_);
    Descriptor last;
    last.op = op_put;
    if (member < 0 || !set_signal(last, signal) || !set_counter(last, counter))
        return GinStatus::bad_argument;
    Descriptor piece;
    piece.op = op_put;
    piece.src_handle = handle_bits(src.window.handles[line]);
    piece.dst_handle = handle_bits(dst.window.handles[line]);
    piece.src_offset = src.offset;
    piece.dst_offset = dst.offset;
    for (; bytes > options_->chunk_bytes; bytes -= options_->chunk_bytes) {
        piece.bytes = options_->chunk_bytes;
        if (const auto sent = post(member, piece); sent != GinStatus::done) return sent;
        piece.src_offset += options_->chunk_bytes;
        piece.dst_offset += options_->chunk_bytes;
    }
    const bool needed = src.window.number != 0 || (last.op & ~op_put) != 0;
    if (needed) {
        piece.bytes = bytes;
        piece.op = last.op;
        piece.signal = last.signal;
        piece.signal_value = last.signal_value;
        piece.strong = last.strong;
        piece.counter = last.counter;
        if (const auto sent = post(member, piece); sent != GinStatus::done) return sent;
    }
    return post_address_signal(member, signal);
}

GinStatus Device::put_inline(int peer, Place dst, std::uint64_t bits, std::uint64_t bytes,
                             const Signal& signal, int counter) {
    const int member = members().member_of(peer);
    Descriptor descriptor;
    descriptor.op = op_put | op_inline;
    if (member < 0 || !set_signal(descriptor, signal) || !set_counter(descriptor, counter))
        return GinStatus::bad_argument;
    descriptor.inline_value = bits;
    descriptor.bytes = bytes;
    descriptor.dst_offset = dst.offset;
    descriptor.dst_handle = handle_bits(dst.window.handles[static_cast<std::size_t>(connection_)]);
    if (const auto sent = post(member, descriptor); sent != GinStatus::done) return sent;
    return post_address_signal(member, signal);
}

GinStatus Device::signal(int peer, const Signal& signal, int counter) {
    return put(peer, {kNoWindow}, {kNoWindow}, 0, signal, counter);
}

GinStatus Device::get(int peer, Place remote, Place local, std::uint64_t bytes) {
    const int member = members().member_of(peer);
    if (member < 0) return GinStatus::bad_argument;
    const auto line = static_cast<std::size_t>(connection_);
    Descriptor piece;
    piece.op = op_get;
    piece.src_handle = handle_bits(remote.window.handles[line]);
    piece.dst_handle = handle_bits(local.window.handles[line]);
    for (std::uint64_t at = 0; at < bytes; at += piece.bytes) {
        piece.bytes = std::min(bytes - at, options_->chunk_bytes);
        piece.src_offset = remote.offset + at;
        piece.dst_offset = local.offset + at;
        if (const auto sent = post(member, piece); sent != GinStatus::done) return sent;
    }
    return GinStatus::done;
}

GinStatus Device::drain(int member, std::uint32_t& gets) {
    Queues& rings = part_->queues(context_);
    gets = rings.last_get(member);  // before the producer index: what is covered must be drained
    const std::uint32_t end = rings.produced(member);
    return wait_for(member, "flush", [&] { return !before(rings.consumed(member), end); });
}

/// A flush in the own ring; the ring is drained up to it.
GinStatus Device::flush_gets() {
    Queues& rings = part_->queues(context_);
    Descriptor descriptor;
    descriptor.op = op_flush;
    const int own = members().own();
    if (const auto sent = post(own, descriptor); sent != GinStatus::done) return sent;
    const std::uint32_t end = rings.produced(own);
    return wait_for(own, "flush", [&] { return !before(rings.consumed(own), end); });
}

GinStatus Device::flush(int peer) {
    const int member = members().member_of(peer);
    if (member < 0) return GinStatus::bad_argument;
    return flush_members(member, member + 1);
}

GinStatus Device::flush() {
    return flush_members(0, members().size());
}

GinStatus Device::flush_members(int begin, int end) {
    Queues& rings = part_->queues(context_);
    bool needed = false;
    std::vector<std::uint32_t> gets(static_cast<std::size_t>(end - begin));
    for (int member = begin; member < end; ++member) {
        std::uint32_t& last = gets[static_cast<std::size_t>(member - begin)];
        if (const auto drained = drain(member, last); drained != GinStatus::done) return drained;
        needed = needed || before(rings.last_visible(member), last);
    }
    if (!needed) return GinStatus::done;
    if (const auto flushed = flush_gets(); flushed != GinStatus::done) return flushed;
    for (int member = begin; member < end; ++member)
        rings.note_visible(member, gets[static_cast<std::size_t>(member - begin)]);
    return GinStatus::done;
}

GinStatus Device::wait_signal(std::uint32_t id, std::uint64_t least) {
    if (id >= static_cast<std::uint32_t>(part_->signals_per_context()))
        return GinStatus::bad_argument;
    return wait([&] { return reached(read_signal(id), least); });
}

std::uint64_t Device::read_signal(std::uint32_t id) const noexcept {
    const int word = static_cast<int>(id);
    return part_->signal(context_, word).load(std::memory_order_acquire) -
           part_->signal_offset(context_, word);
}

void Device::reset_signal(std::uint32_t id) noexcept {
    const int word = static_cast<int>(id);
    part_->signal_offset(context_, word) =
        part_->signal(context_, word).load(std::memory_order_acquire);
}

GinStatus Device::wait_counter(std::uint32_t id, std::uint64_t least) {
    if (id >= static_cast<std::uint32_t>(part_->shape().counters)) return GinStatus::bad_argument;
    return wait([&] { return reached(read_counter(id), least); });
}

std::uint64_t Device::read_counter(std::uint32_t id) const noexcept {
    return part_->counter(context_, static_cast<int>(id)).load(std::memory_order_acquire);
}

void Device::reset_counter(std::uint32_t id) noexcept {
    part_->counter(context_, static_cast<int>(id)).store(0, std::memory_order_release);
}

GinStatus Device::barrier(bool fence) {
    if (fence)
        if (const auto flushed = flush(); flushed != GinStatus::done) return flushed;
    const std::uint64_t round = ++part_->barrier_round(context_);
    const int own = members().own();
    const auto word_of = [&](int member) {
        return static_cast<std::uint32_t>(part_->shape().signals + member);
    };
    // A word for each source: a fast peer's next round must not stand in for a slow one's this.
    for (int member = 0; member < members().size(); ++member) {
        if (member == own) continue;
        Signal arrival = Signal::inc(word_of(own));
        arrival.strong = options_->strong_barrier;
        const auto sent = signal(members().rank_of(member), arrival);
        if (sent != GinStatus::done) return sent;
    }
    for (int member = 0; member < members().size(); ++member) {
        if (member == own) continue;
        const auto arrived = wait_for(
            member, "barrier", [&] { return reached(read_signal(word_of(member)), round); });
        if (arrived != GinStatus::done) return arrived;
    }
    return GinStatus::done;
}

}  // namespace duofi::gin
