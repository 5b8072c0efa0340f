// Puts signal dispositions back as they were (architecture 4.14). Providers may install handlers
// while they start; a plugin must not change how its host dies.
#pragma once

#include <csignal>

#include <array>

namespace duofi::ofi {

/// Saves every disposition when built and restores the changed ones when destroyed. Held around
/// provider calls that may install handlers: fi_getinfo, opening domains and endpoints. A handler
/// that another thread installs in that time is undone too, so keep the scope short. Never throws.
class SignalGuard {
  public:
    SignalGuard() noexcept;
    ~SignalGuard();
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

  private:
    static constexpr int kSignals = 64;
    struct Saved {
        struct sigaction action {};
        bool valid = false;
    };
    std::array<Saved, kSignals + 1> saved_{};  // index = signal number
};

}  // namespace duofi::ofi
