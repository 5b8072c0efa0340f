// Messages that are one step: what a send or a recv of a few bytes comes down to, without the
// bookkeeping of a Transfer. On the wire they are the same, so one end may use this and the other
// one a Transfer. Not for buffers that are lent (direct SIMPLE). One thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "p2p/kernels/kernel.hpp"
#include "p2p/kernels/link.hpp"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

/// Longest message that is certainly one step of that protocol.
[[nodiscard]] constexpr std::size_t one_step_bytes(const BufferSizes& sizes,
                                                   Protocol protocol) noexcept {
    return transfer_chunk(0, sizes, protocol);
}

/// `bytes` is at most one_step_bytes(). On failure the abort word is raised and the link is
/// unusable, as after run_transfers().
[[nodiscard]] inline KernelResult send_one_step(SendLink& link, Protocol protocol, const void* data,
                                                std::size_t bytes, const KernelContext& context) {
    if (!link.has_credit(1)) [[unlikely]] {
        Waiter waiter(context);
        const KernelResult result = link.await_credit(1, waiter);
        if (result != KernelResult::ok) {
            context.raise_abort();
            return result;
        }
    }
    if (protocol == Protocol::simple) {
        local::copy(link.room(bytes, 1), data, bytes, bytes, bytes + 1);
        link.publish(1, bytes);
    } else {
        link.announce(protocol, bytes);
        std::uint64_t* const lines = link.lines(protocol, bytes);
        if (protocol == Protocol::ll)
            ll_write<HardwareMemory>(lines, data, bytes, link.ll().flag(link.step()));
        else
            ll128_write<HardwareMemory>(lines, data, bytes, ll128_flag(link.step()));
        link.finish_lines(protocol, bytes);
    }
    link.finish();
    return KernelResult::ok;
}

[[nodiscard]] inline KernelResult receive_one_step(RecvLink& link, Protocol protocol, void* data,
                                                   std::size_t bytes,
                                                   const KernelContext& context) {
    Waiter waiter(context);
    KernelResult result = KernelResult::ok;
    if (protocol == Protocol::simple) result = link.await_data(1, waiter);
    if (result == KernelResult::ok) result = link.check_size(bytes, waiter);
    if (result == KernelResult::ok) {
        if (protocol == Protocol::simple)
            local::copy(data, link.room(bytes, 1), bytes, bytes, bytes + 1);
        else if (protocol == Protocol::ll)
            result = ll_read<HardwareMemory>(link.lines(protocol, bytes), data, bytes,
                                             link.ll().flag(link.step()), waiter);
        else
            result = ll128_read<HardwareMemory>(link.lines(protocol, bytes), data, bytes,
                                                ll128_flag(link.step()), waiter);
    }
    if (result != KernelResult::ok) [[unlikely]] {
        context.raise_abort();
        return result;
    }
    link.release(1);
    link.finish();
    return KernelResult::ok;
}

}  // namespace duofi::p2p
