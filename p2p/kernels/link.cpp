#include "p2p/kernels/link.hpp"

#include <atomic>
#include <limits>

namespace duofi::p2p {
namespace {

using SizeWord = std::atomic_ref<std::int32_t>;

/// Checked sizes are stored one larger: fresh memory is zero and must mean "nothing yet".
std::int32_t checked_form(std::size_t payload) noexcept {
    return static_cast<std::int32_t>(payload + 1);
}

std::size_t wire_bytes(Protocol protocol, std::size_t payload) noexcept {
    return protocol == Protocol::ll ? ll_lines(payload) * kLlLineBytes
                                    : ll128_lines(payload) * kLl128LineBytes;
}

}  // namespace

SendLink::SendLink(ncclConnInfo* conn, const BufferSizes& sizes, const LinkOptions& options)
    : Link(conn, sizes, options),
      counters_(conn->head, conn->tail, conn->step),
      next_clean_(options.ll.next_clean(conn->step)) {}

void SendLink::store_size(std::size_t wire, std::size_t payload) {
    SizeWord word(conn_->sizesFifo[counters_.step() % kSteps]);
    if (options_.proxied)
        word.store(static_cast<std::int32_t>(wire), std::memory_order_release);
    else
        word.store(checked_form(payload), std::memory_order_release);
}

void SendLink::publish(std::uint64_t n, std::size_t bytes) {
    if (conn_->sizesFifo) [[unlikely]]
        store_size(bytes, bytes);
    const std::uint64_t end = counters_.step() + n;
    if (end > next_clean_) [[unlikely]]
        clean_until(end);
    counters_.publish(n);
    counters_.look_ahead();
}

void SendLink::store_size(Protocol protocol, std::size_t bytes) {
    store_size(wire_bytes(protocol, bytes), bytes);
}

void SendLink::finish_rare_lines(Protocol protocol, std::size_t bytes) {
    const std::uint64_t step = counters_.step();
    std::size_t wire = wire_bytes(protocol, bytes);
    if (step >= next_clean_) [[unlikely]] {
        clean_until(step);
        if (protocol == Protocol::ll && step == next_clean_) {
            const std::size_t used = ll_lines(bytes);
            const std::size_t all = sizes_.slot(Protocol::ll) / kLlLineBytes;
            ll_fill<HardwareMemory>(lines(Protocol::ll, bytes) + 2 * used, all - used,
                                    options_.ll.flag(step));
            next_clean_ = options_.ll.next_clean(step + 1);
            wire = sizes_.slot(Protocol::ll);
        } else {
            clean_until(step + 1);
        }
    }
    if (conn_->sizesFifo && options_.proxied) [[unlikely]] {
        store_size(wire, bytes);
        counters_.publish(1);
        return;
    }
    counters_.advance(1);
    counters_.look_ahead();
}

/// Slots of steps that carry no LL lines, or that a rounding skipped, must not keep old flags
/// either. The caller has credit for the steps below `end`, so nobody reads those slots.
void SendLink::clean_until(std::uint64_t end) {
    while (next_clean_ < end) {
        const std::size_t all = sizes_.slot(Protocol::ll) / kLlLineBytes;
        auto* lines = reinterpret_cast<std::uint64_t*>(slot_of(Protocol::ll, next_clean_));
        ll_fill<HardwareMemory>(lines, all, options_.ll.flag(next_clean_));
        next_clean_ = options_.ll.next_clean(next_clean_ + 1);
    }
}

RecvLink::RecvLink(ncclConnInfo* conn, const BufferSizes& sizes, const LinkOptions& options)
    : Link(conn, sizes, options), counters_(conn->head, conn->tail, conn->step) {}

bool RecvLink::lines_arrived(Protocol protocol, std::size_t bytes) const {
    if (checks_sizes()) [[unlikely]] {
        const SizeWord word(conn_->sizesFifo[counters_.step() % kSteps]);
        return word.load(std::memory_order_relaxed) != 0;
    }
    if (protocol == Protocol::ll)
        return ll_arrived<HardwareMemory>(lines(protocol, bytes),
                                          options_.ll.flag(counters_.step()));
    return ll128_arrived<HardwareMemory>(lines(protocol, bytes), ll128_flag(counters_.step()));
}

KernelResult RecvLink::compare_size(std::size_t bytes, Waiter& waiter) {
    const SizeWord word(conn_->sizesFifo[counters_.step() % kSteps]);
    std::int32_t given = 0;
    while ((given = word.load(std::memory_order_acquire)) == 0)
        if (!waiter.pause()) return waiter.result();
    word.store(0, std::memory_order_relaxed);
    return given == checked_form(bytes) ? KernelResult::ok : KernelResult::size_mismatch;
}

}  // namespace duofi::p2p
