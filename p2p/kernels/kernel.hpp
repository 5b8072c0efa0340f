// What a kernel is handed, how it waits and what it answers (p2p contract 4.1, 4.7). Kernels make
// no system calls while both ends move on; a wait may end in sched_yield when threads outnumber
// CPUs.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/local/copy.hpp"
#include "common/util/clock.hpp"

namespace duofi::p2p {

enum class KernelResult : std::uint8_t {
    ok,
    aborted,        ///< the abort word was raised
    timed_out,      ///< one wait took longer than SpinPolicy::timeout
    bad_counter,    ///< a shared counter left its bounds (p2p contract 4.8); sticky for the link
    size_mismatch,  ///< the ends disagree about a size (V-33)
};

/// "aborted", "timed_out", ...
[[nodiscard]] const char* to_string(KernelResult result) noexcept;

/// Looks without success before the CPU is offered to others, and how long a wait may last.
struct SpinPolicy {
    std::uint32_t spins_before_yield = 0;  ///< 0 = never yields
    Nanoseconds timeout = 0;               ///< of one wait; 0 = none

    /// 2000 looks when more threads run than there are CPUs, else no yielding. `spins` >= 0 wins.
    [[nodiscard]] static SpinPolicy for_threads(unsigned threads, int spins = -1) noexcept;
};

/// Of one kernel thread; read it when no kernel runs.
struct KernelStatistics {
    std::uint64_t yields = 0;  ///< calls of sched_yield
    /// Waits that are still to be impatient: a wait that had to yield says that the peer needs this
    /// CPU, and looking 2000 times first at every hop made a ring of 4 ranks on 2 CPUs 25 times
    /// slower.
    std::uint32_t crowded = 0;
};

/// Shared by all kernels of a communicator, `statistics` excepted. Everything is borrowed.
struct KernelContext {
    std::uint32_t* abort = nullptr;  ///< not NULL; any thread raises it, kernels do on failure
    SpinPolicy spin;
    KernelStatistics* statistics = nullptr;  ///< may be NULL
    /// Words that peers raise when a kernel of theirs has failed; may be NULL. Waits end with
    /// `aborted` then.
    const std::vector<std::uint32_t*>* alarms = nullptr;
    /// Results of at least this many bytes are written past the cache.
    std::size_t streaming_threshold = local::streaming_threshold();

    void raise_abort() const noexcept {
        std::atomic_ref<std::uint32_t>(*abort).store(1, std::memory_order_release);
    }
    [[nodiscard]] bool abort_raised() const noexcept { return raised(*abort) || alarm_raised(); }

  private:
    [[nodiscard]] static bool raised(std::uint32_t& word) noexcept {
        return std::atomic_ref<std::uint32_t>(word).load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] bool alarm_raised() const noexcept {
        if (alarms == nullptr) return false;
        for (std::uint32_t* const word : *alarms)
            if (raised(*word)) return true;
        return false;
    }
};

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// One wait. pause() after each look without success; the abort word is read every 1024 looks.
class Waiter {
  public:
    explicit Waiter(const KernelContext& context) noexcept
        : context_(context), patience_(patience()), next_check_(first_check()) {}
    ~Waiter() {
        if (spins_ > 0 && !yielded_ && context_.statistics && context_.statistics->crowded > 0)
            --context_.statistics->crowded;
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    /// False: give up for the reason in result().
    [[nodiscard]] bool pause() noexcept {
        cpu_relax();
        if (++spins_ < next_check_) [[likely]]
            return true;
        return check();
    }
    /// The wait made a step forward: patience starts again.
    void progressed() noexcept {
        spins_ = 0;
        next_check_ = first_check();
        started_ = 0;
    }
    [[nodiscard]] KernelResult result() const noexcept { return result_; }

  private:
    static constexpr std::uint64_t kLooksBetweenChecks = 1024;
    static constexpr std::uint64_t kLooksBetweenYields = 16;

    static constexpr std::uint64_t kCrowdedPatience = 16;

    [[nodiscard]] std::uint64_t patience() const noexcept {
        const std::uint64_t full = context_.spin.spins_before_yield;
        const bool crowded = context_.statistics && context_.statistics->crowded > 0;
        return crowded && full > kCrowdedPatience ? kCrowdedPatience : full;
    }
    [[nodiscard]] std::uint64_t first_check() const noexcept {
        return patience_ != 0 && patience_ < kLooksBetweenChecks ? patience_ : kLooksBetweenChecks;
    }
    [[nodiscard]] bool check() noexcept;

    const KernelContext& context_;
    std::uint64_t spins_ = 0;
    std::uint64_t patience_;  ///< looks before the first yield, 0 = never
    std::uint64_t next_check_;
    bool yielded_ = false;
    Nanoseconds started_ = 0;  ///< of the first check; 0 = none yet
    KernelResult result_ = KernelResult::ok;
};

}  // namespace duofi::p2p
