#include "tools/duofi/bench_raw_one_sided.hpp"

namespace duofi::tool {
namespace {

/// Of the write that ends a workload which tells its target nothing.
constexpr unsigned kEndSlot = kWidestWindow;

}  // namespace

Status RawOneSidedDriver::post(unsigned slot, std::uint32_t iteration, const Workload& work) {
    const std::size_t offset = buffer_offset(work, iteration);
    switch (operation_) {
        case OneSided::put:
            return endpoint_.post_put(slot, offset, work.bytes);
        case OneSided::put_signal:
            return endpoint_.post_put_signal(slot, offset, work.bytes);
        case OneSided::get:
            return endpoint_.post_get(slot, offset, work.bytes);
    }
    return fail(Errc::internal, "kind of operation");
}

Status RawOneSidedDriver::take(std::uint64_t arrivals) {
    DUOFI_TRY(endpoint_.wait_writes(arrivals));
    endpoint_.take_writes(arrivals);
    return {};
}

/// Both halves of a ping-pong: who begins sends before it waits.
Status RawOneSidedDriver::bounce(const Workload& work, bool first) {
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        if (!first) DUOFI_TRY(take(1));
        DUOFI_TRY(post(0, i, work));
        if (first) DUOFI_TRY(take(1));
        DUOFI_TRY(endpoint_.wait_send(0));
    }
    return {};
}

Status RawOneSidedDriver::lead(const Workload& work) {
    if (work.shape == Shape::ping_pong) return bounce(work, true);
    for (std::uint32_t i = 0; i < work.iterations; ++i) {
        const unsigned slot = i % work.window;
        DUOFI_TRY(endpoint_.wait_send(slot));
        DUOFI_TRY(post(slot, i, work));
    }
    for (unsigned slot = 0; slot < work.window; ++slot) DUOFI_TRY(endpoint_.wait_send(slot));
    if (operation_ == OneSided::put_signal) return {};
    DUOFI_TRY(endpoint_.post_put_signal(kEndSlot, kAckOffset, kAckBytes));
    return endpoint_.wait_send(kEndSlot);
}

Status RawOneSidedDriver::follow(const Workload& work) {
    if (work.shape == Shape::ping_pong) return bounce(work, false);
    return take(operation_ == OneSided::put_signal ? work.iterations : 1);
}

}  // namespace duofi::tool
