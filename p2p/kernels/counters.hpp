// The two counters of one direction of an edge (p2p contract 4.2, 4.8): tail counts produced steps,
// head counts returned credits, both absolute and never reset. Each end remembers the last value
// that it saw and looks again only when that is not enough. One thread per object.
#pragma once

#include <cstdint>

#include "p2p/kernels/kernel.hpp"

namespace duofi::p2p {

inline constexpr std::uint64_t kSteps = 8;
/// A rounding at the start of an operation skips at most this many steps.
inline constexpr std::uint64_t kLargestSkip = 3;

/// The sender's end: polls its own head, writes the receiver's tail.
template <typename Memory, std::uint64_t Slots = kSteps>
class SendCounters {
  public:
    SendCounters(std::uint64_t* head, std::uint64_t* tail, std::uint64_t step)
        : head_(head), tail_(tail), seen_(Memory::load_acquire(head)), step_(step) {}

    [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
    /// Skips to the next multiple of `unit` (a power of two up to 4).
    void round_up(std::uint64_t unit) noexcept { step_ = (step_ + unit - 1) & ~(unit - 1); }

    /// One look: may the next `n` steps be used? After false, failed() tells about broken bounds.
    [[nodiscard]] bool has_credit(std::uint64_t n) {
        if (enough(seen_, n)) return true;
        return take(Memory::load_acquire(head_)) && enough(seen_, n);
    }
    [[nodiscard]] KernelResult await_credit(std::uint64_t n, Waiter& waiter) {
        if (enough(seen_, n)) return KernelResult::ok;
        std::uint64_t value = 0;
        const bool ended = Memory::await_acquire(head_, waiter, value, [&](std::uint64_t head) {
            return !in_bounds(head) || enough(head, n);
        });
        if (!ended) return waiter.result();
        return take(value) ? KernelResult::ok : KernelResult::bad_counter;
    }
    /// The next `n` steps were written without a word of their own in the receiver's tail (LL).
    void advance(std::uint64_t n) noexcept { step_ += n; }
    /// The next `n` steps are written: the receiver may read them.
    void publish(std::uint64_t n) {
        step_ += n;
        Memory::store_release(tail_, step_);
    }
    /// Asks for the head before it is needed, while this end has nothing better to do than to wait
    /// for an answer.
    void look_ahead() const noexcept {
        if (!enough(seen_, 2)) __builtin_prefetch(head_);
    }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

  private:
    [[nodiscard]] bool enough(std::uint64_t head, std::uint64_t n) const noexcept {
        return head + Slots >= step_ + n;
    }
    [[nodiscard]] bool in_bounds(std::uint64_t head) const noexcept {
        return head >= seen_ && head <= step_ + kLargestSkip;
    }
    [[nodiscard]] bool take(std::uint64_t head) noexcept {
        if (!in_bounds(head)) [[unlikely]]
            return !(failed_ = true);
        seen_ = head;
        return true;
    }

    std::uint64_t* head_;
    std::uint64_t* tail_;
    std::uint64_t seen_;
    std::uint64_t step_;
    bool failed_ = false;
};

/// The receiver's end: polls its own tail, writes the sender's head.
template <typename Memory, std::uint64_t Slots = kSteps>
class RecvCounters {
  public:
    RecvCounters(std::uint64_t* head, std::uint64_t* tail, std::uint64_t step)
        : head_(head), tail_(tail), seen_(Memory::load_acquire(tail)), step_(step) {}

    [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
    /// As the sender's; the skipped credits go back at once.
    void round_up(std::uint64_t unit) {
        const std::uint64_t rounded = (step_ + unit - 1) & ~(unit - 1);
        if (rounded != step_) release(rounded - step_);
    }

    [[nodiscard]] bool has_data(std::uint64_t n) {
        if (enough(seen_, n)) return true;
        return take(Memory::load_acquire(tail_)) && enough(seen_, n);
    }
    [[nodiscard]] KernelResult await_data(std::uint64_t n, Waiter& waiter) {
        if (enough(seen_, n)) return KernelResult::ok;
        std::uint64_t value = 0;
        const bool ended = Memory::await_acquire(tail_, waiter, value, [&](std::uint64_t tail) {
            return !in_bounds(tail) || enough(tail, n);
        });
        if (!ended) return waiter.result();
        return take(value) ? KernelResult::ok : KernelResult::bad_counter;
    }
    /// The next `n` steps have been read to the end: their slots may be written again.
    void release(std::uint64_t n) {
        step_ += n;
        Memory::store_release(head_, step_);
    }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

  private:
    [[nodiscard]] bool enough(std::uint64_t tail, std::uint64_t n) const noexcept {
        return tail >= step_ + n;
    }
    /// No lower bound but the last value: steps of LL and LL128 never write tail.
    [[nodiscard]] bool in_bounds(std::uint64_t tail) const noexcept {
        return tail >= seen_ && (tail <= step_ || tail - step_ <= Slots + kLargestSkip);
    }
    [[nodiscard]] bool take(std::uint64_t tail) noexcept {
        if (!in_bounds(tail)) [[unlikely]]
            return !(failed_ = true);
        seen_ = tail;
        return true;
    }

    std::uint64_t* head_;
    std::uint64_t* tail_;
    std::uint64_t seen_;
    std::uint64_t step_;
    bool failed_ = false;
};

}  // namespace duofi::p2p
