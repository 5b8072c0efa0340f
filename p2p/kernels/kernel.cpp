#include "p2p/kernels/kernel.hpp"

#include <thread>

namespace duofi::p2p {

namespace {

/// Waits without a yield after which patience is full again.
constexpr std::uint32_t kCrowdedWaits = 64;

}  // namespace

const char* to_string(KernelResult result) noexcept {
    switch (result) {
        case KernelResult::ok:
            return "ok";
        case KernelResult::aborted:
            return "aborted";
        case KernelResult::timed_out:
            return "timed_out";
        case KernelResult::bad_counter:
            return "bad_counter";
        case KernelResult::size_mismatch:
            return "size_mismatch";
    }
    return "unknown";
}

SpinPolicy SpinPolicy::for_threads(unsigned threads, int spins) noexcept {
    constexpr std::uint32_t kCrowded = 2000;  // p2p contract 4.7
    SpinPolicy policy;
    if (spins >= 0)
        policy.spins_before_yield = static_cast<std::uint32_t>(spins);
    else if (threads > std::thread::hardware_concurrency())
        policy.spins_before_yield = kCrowded;
    return policy;
}

bool Waiter::check() noexcept {
    if (context_.abort_raised()) {
        result_ = KernelResult::aborted;
        return false;
    }
    if (context_.spin.timeout > 0) {
        const Nanoseconds now = now_ns();
        if (started_ == 0) started_ = now;
        if (now - started_ >= context_.spin.timeout) {
            result_ = KernelResult::timed_out;
            return false;
        }
    }
    if (patience_ == 0 || spins_ < patience_) {
        next_check_ = spins_ + kLooksBetweenChecks;
        if (patience_ != 0 && next_check_ > patience_) next_check_ = patience_;
        return true;
    }
    ::sched_yield();
    yielded_ = true;
    if (context_.statistics) {
        ++context_.statistics->yields;
        context_.statistics->crowded = kCrowdedWaits;
    }
    next_check_ = spins_ + kLooksBetweenYields;
    return true;
}

}  // namespace duofi::p2p
