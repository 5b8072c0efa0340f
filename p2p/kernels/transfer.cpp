#include "p2p/kernels/transfer.hpp"

#include <algorithm>

namespace duofi::p2p {

Transfer::Transfer(std::size_t bytes, const Link& link, Protocol protocol) noexcept
    : direct_(protocol == Protocol::simple && link.direct()),
      bytes_(bytes),
      chunk_(direct_ ? kDirectChunk : transfer_chunk(bytes, link.sizes(), protocol)),
      chunks_(bytes <= chunk_ ? 1 : (bytes + chunk_ - 1) / chunk_),  // no bytes: still one step
      protocol_(protocol) {}

SendTransfer::SendTransfer(SendLink& link, const void* data, std::size_t bytes,
                           Protocol protocol) noexcept
    : Transfer(bytes, link, protocol), link_(&link), data_(static_cast<const std::byte*>(data)) {}

Advance SendTransfer::write_direct(const KernelContext& context, KernelResult& result) {
    const std::size_t bytes = next_bytes();
    if (borrowed_.bytes != bytes_) {
        result = KernelResult::size_mismatch;
        return Advance::failed;
    }
    local::copy(reinterpret_cast<std::byte*>(borrowed_.address) + place(), data_ + place(), bytes,
                bytes_, context.streaming_threshold);
    link_->publish(1, bytes);
    return Advance::moved;
}

void SendTransfer::write_lines(std::size_t bytes) {
    link_->announce(protocol_, bytes);
    const std::byte* from = data_ + place();
    if (protocol_ == Protocol::ll)
        ll_write<HardwareMemory>(link_->lines(protocol_, bytes), from, bytes,
                                 link_->ll().flag(link_->step()));
    else
        ll128_write<HardwareMemory>(link_->lines(protocol_, bytes), from, bytes,
                                    ll128_flag(link_->step()));
    link_->finish_lines(protocol_, bytes);
}

Advance SendTransfer::advance(const KernelContext& context, KernelResult& result) {
    if (direct_ && borrowed_.address == 0 && !link_->poll_buffer(borrowed_))
        return Advance::waiting;
    if (!link_->has_credit(1)) {
        if (!link_->failed()) return Advance::waiting;
        result = KernelResult::bad_counter;
        return Advance::failed;
    }
    const std::size_t bytes = next_bytes();
    if (direct_) {
        if (write_direct(context, result) == Advance::failed) return Advance::failed;
    } else if (protocol_ == Protocol::simple) {
        local::copy(link_->room(bytes, 1), data_ + place(), bytes, bytes, bytes + 1);
        link_->publish(1, bytes);
    } else {
        write_lines(bytes);
    }
    if (++chunk_index_ == chunks_) link_->finish();
    return Advance::moved;
}

RecvTransfer::RecvTransfer(RecvLink& link, void* data, std::size_t bytes, Protocol protocol)
    : Transfer(bytes, link, protocol), link_(&link), data_(static_cast<std::byte*>(data)) {
    if (direct_) link_->offer(data_, bytes_);
}

KernelResult RecvTransfer::read_lines(std::size_t bytes, Waiter& waiter) {
    std::byte* to = data_ + place();
    if (protocol_ == Protocol::ll)
        return ll_read<HardwareMemory>(link_->lines(protocol_, bytes), to, bytes,
                                       link_->ll().flag(link_->step()), waiter);
    return ll128_read<HardwareMemory>(link_->lines(protocol_, bytes), to, bytes,
                                      ll128_flag(link_->step()), waiter);
}

Advance RecvTransfer::advance(const KernelContext& context, KernelResult& result) {
    const std::size_t bytes = next_bytes();
    const bool simple = protocol_ == Protocol::simple;
    if (!(simple ? link_->has_data(1) : link_->lines_arrived(protocol_, bytes))) {
        if (!link_->failed()) return Advance::waiting;
        result = KernelResult::bad_counter;
        return Advance::failed;
    }
    Waiter waiter(context);
    result = link_->check_size(bytes, waiter);
    if (result == KernelResult::ok && !simple) result = read_lines(bytes, waiter);
    if (result != KernelResult::ok) return Advance::failed;
    if (simple && !direct_) {
        const std::byte* const from = link_->room(bytes, 1);
        if (bytes_ >= context.streaming_threshold)
            local::copy_streaming(data_ + place(), from, bytes);
        else
            local::copy_handed_over(data_ + place(), from, bytes);
    }
    link_->release(1);
    if (++chunk_index_ == chunks_) link_->finish();
    return Advance::moved;
}

namespace {

/// One look at each that is not done.
template <typename T>
Advance pass(std::span<T> list, std::size_t& open, const KernelContext& context,
             KernelResult& result) {
    Advance best = Advance::waiting;
    for (T& transfer : list) {
        if (transfer.done()) continue;
        const Advance advance = transfer.advance(context, result);
        if (advance == Advance::failed) return advance;
        if (advance == Advance::moved) best = advance;
        if (transfer.done()) --open;
    }
    return best;
}

}  // namespace

KernelResult run_transfers(std::span<SendTransfer> sends, std::span<RecvTransfer> receives,
                           const KernelContext& context) {
    const auto is_open = [](const Transfer& t) { return !t.done(); };
    std::size_t open = static_cast<std::size_t>(std::ranges::count_if(sends, is_open) +
                                                std::ranges::count_if(receives, is_open));
    KernelResult result = KernelResult::ok;
    Waiter waiter(context);
    while (open > 0) {
        const Advance sent = pass(sends, open, context, result);
        const Advance got = sent == Advance::failed ? sent : pass(receives, open, context, result);
        if (sent == Advance::failed || got == Advance::failed) {
            context.raise_abort();
            return result;
        }
        if (sent == Advance::moved || got == Advance::moved) {
            waiter.progressed();
        } else if (!waiter.pause()) {
            context.raise_abort();
            return waiter.result();
        }
    }
    return KernelResult::ok;
}

}  // namespace duofi::p2p
