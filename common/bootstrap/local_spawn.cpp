#include "common/bootstrap/local_spawn.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "common/bootstrap/child_process.hpp"
#include "common/bootstrap/socket.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/bootstrap.hpp"

namespace duofi::bootstrap {
namespace {

constexpr Nanoseconds kSlice =
    100 * kMillisecond;                          // also covers a SIGCHLD that another thread took
constexpr Nanoseconds kKillTime = 30 * kSecond;  // for the kernel to end what got SIGKILL

/// Blocks the three signals and makes children waitable; puts everything back at the end.
class SignalScope {
  public:
    SignalScope() {
        sigemptyset(&watched_);
        for (const int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&watched_, number);
        ::pthread_sigmask(SIG_BLOCK, &watched_, &before_);
        struct sigaction by_default {};
        by_default.sa_handler = SIG_DFL;
        ::sigaction(SIGCHLD, &by_default, &child_before_);
    }
    ~SignalScope() {
        ::sigaction(SIGCHLD, &child_before_, nullptr);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;

    /// Next signal with its sender, or number 0 after `longest`.
    [[nodiscard]] siginfo_t wait(Nanoseconds longest) const noexcept {
        const timespec time{static_cast<time_t>(longest / kSecond),
                            static_cast<long>(longest % kSecond)};
        siginfo_t info{};
        if (::sigtimedwait(&watched_, &info, &time) < 0) info.si_signo = 0;
        return info;
    }

  private:
    sigset_t watched_{};
    sigset_t before_{};
    struct sigaction child_before_ {};
};

std::string describe(const RankExit& exit) {
    if (exit.signal_number != 0)
        return fmt::format("rank {} ended by signal {} ({})", exit.rank, exit.signal_number,
                           ::strsignal(exit.signal_number));
    return fmt::format("rank {} exited with {}", exit.rank, exit.exit_code);
}

/// Watches the children of one run until all are reaped.
class Watch {
  public:
    Watch(const SpawnRequest& request, const SignalScope& signals)
        : request_(request), signals_(signals), end_(request.timeout) {}

    std::vector<ChildProcess> children;

    Result<SpawnOutcome> run() {
        while (count_running() > 0) {
            const siginfo_t info = signals_.wait(next_wait());
            if (info.si_signo == SIGINT || info.si_signo == SIGTERM) forward(info.si_signo);
            reap_all(info.si_signo == SIGCHLD ? info.si_pid : 0);
            if (!stopping_ && end_.passed()) time_is_over();
            if (stopping_ && !killed_ && kill_at_.passed()) kill_all();
            if (killed_ && give_up_at_.passed() && count_running() > 0)
                return fail(Errc::system, "waitpid", ETIMEDOUT);
        }
        for (const ChildProcess& child : children) outcome_.ranks.push_back(child.exit());
        return outcome_;
    }

    /// For a run that could not be started whole.
    void abandon() {
        kill_all();
        static_cast<void>(run());
    }

  private:
    [[nodiscard]] int count_running() const {
        return static_cast<int>(std::count_if(children.begin(), children.end(),
                                              [](const ChildProcess& c) { return c.running(); }));
    }

    [[nodiscard]] Nanoseconds next_wait() const {
        const Nanoseconds left = stopping_ ? kill_at_.remaining() : end_.remaining();
        return killed_ ? kSlice : std::min(kSlice, left);
    }

    /// `hint` is the process that the kernel named first; it is looked at first.
    void reap_all(pid_t hint) {
        std::vector<const RankExit*> failed;
        const auto look = [&](ChildProcess& child) {
            if (child.reap(stopping_) && !child.exit().ok()) failed.push_back(&child.exit());
        };
        for (ChildProcess& child : children)
            if (child.pid() == hint) look(child);
        for (ChildProcess& child : children) look(child);
        if (failed.empty() || stopping_) return;
        // A crash is the cause, the error exits that arrive with it are its consequence.
        const auto crash = std::find_if(failed.begin(), failed.end(), [](const RankExit* exit) {
            return exit->signal_number != 0;
        });
        const RankExit& first = crash != failed.end() ? **crash : *failed.front();
        outcome_.first_failed = first.rank;
        if (count_running() > 0) log::warn(log::all, messages::kSpawnRankFailed, describe(first));
        stop_with(SIGTERM);
    }

    void time_is_over() {
        outcome_.timed_out = true;
        log::warn(log::all, messages::kSpawnDeadline, count_running(), request_.size);
        stop_with(SIGTERM);
    }

    void forward(int number) {
        if (outcome_.forwarded_signal != 0) {
            kill_all();  // asked twice
            return;
        }
        outcome_.forwarded_signal = number;
        log::warn(log::all, messages::kSpawnSignal, number);
        stop_with(number);
    }

    void stop_with(int number) {
        stopping_ = true;
        kill_at_ = Deadline(request_.kill_grace);
        for (const ChildProcess& child : children) child.signal(number);
    }

    void kill_all() {
        stopping_ = true;
        killed_ = true;
        give_up_at_ = Deadline(kKillTime);
        for (const ChildProcess& child : children) child.signal(SIGKILL);
    }

    const SpawnRequest& request_;
    const SignalScope& signals_;
    Deadline end_;
    Deadline kill_at_{0};
    Deadline give_up_at_{0};
    bool stopping_ = false;
    bool killed_ = false;
    SpawnOutcome outcome_;
};

}  // namespace

bool SpawnOutcome::ok() const noexcept {
    return !timed_out && forwarded_signal == 0 &&
           std::all_of(ranks.begin(), ranks.end(), [](const RankExit& exit) { return exit.ok(); });
}

std::string SpawnOutcome::summary() const {
    if (forwarded_signal != 0) return fmt::format("ended by signal {}", forwarded_signal);
    if (timed_out) return "deadline passed";
    for (const RankExit& exit : ranks)
        if (exit.rank == first_failed) return describe(exit);
    return fmt::format("all {} ranks exited with 0", ranks.size());
}

Result<SpawnOutcome> run_ranks(const SpawnRequest& request, const std::function<int(int)>& body) {
    if (request.size < 1) return fail(Errc::invalid_argument, "run_ranks", EINVAL);
    const SignalScope signals;
    Watch watch(request, signals);
    for (int rank = 0; rank < request.size; ++rank) {
        auto child = ChildProcess::start(rank, variables_of(request, rank), body);
        if (!child) {
            const int code = child.error().provider_errno;
            log::warn(log::all, messages::kSpawnFailed, rank, code, std::strerror(code));
            watch.abandon();
            return tl::unexpected(child.error());
        }
        watch.children.push_back(std::move(*child));
    }
    return watch.run();
}

Result<SpawnOutcome> run_ranks(const SpawnRequest& request, const std::vector<std::string>& argv) {
    if (argv.empty()) return fail(Errc::invalid_argument, "run_ranks", EINVAL);
    return run_ranks(request, [&argv](int) { return become_program(argv); });
}

Result<std::uint16_t> free_port(const std::string& host) {
    DUOFI_ASSIGN(std::vector<SocketAddress> addresses, resolve(host, 0));
    SocketAddress& address = addresses.front();
    DUOFI_ASSIGN(const UniqueFd listener, listen_on(address));
    return address.port();
}

}  // namespace duofi::bootstrap
