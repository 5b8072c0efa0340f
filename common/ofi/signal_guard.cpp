#include "common/ofi/signal_guard.hpp"

namespace duofi::ofi {
namespace {

bool changeable(int signal) noexcept {
    return signal != SIGKILL && signal != SIGSTOP;
}

bool same(const struct sigaction& a, const struct sigaction& b) noexcept {
    if (a.sa_flags != b.sa_flags) return false;
    return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                          : a.sa_handler == b.sa_handler;
}

}  // namespace

SignalGuard::SignalGuard() noexcept {
    for (int signal = 1; signal <= kSignals; ++signal)
        if (changeable(signal))
            saved_[signal].valid = ::sigaction(signal, nullptr, &saved_[signal].action) == 0;
}

SignalGuard::~SignalGuard() {
    for (int signal = 1; signal <= kSignals; ++signal) {
        struct sigaction now {};
        if (!saved_[signal].valid || ::sigaction(signal, nullptr, &now) != 0) continue;
        if (!same(now, saved_[signal].action))
            (void)::sigaction(signal, &saved_[signal].action, nullptr);
    }
}

}  // namespace duofi::ofi
