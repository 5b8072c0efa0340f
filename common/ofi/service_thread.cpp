#include "common/ofi/service_thread.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/util/scope_exit.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::ofi {

namespace {

constexpr Nanoseconds kTick = 50 * kMillisecond;
constexpr Nanoseconds kFirstPause = 50 * kMicrosecond;
constexpr Nanoseconds kLongestPause = kMillisecond;
// A target that was busy a moment ago is looked at this often; after kLinger without traffic the thread sleeps until
// something arrives, where the provider can tell (Endpoint::arm).
constexpr Nanoseconds kPassivePause = 300 * kMicrosecond;
constexpr Nanoseconds kEager = 2 * kMillisecond;  // after a ring: the rest of what rang comes a little behind
constexpr Nanoseconds kLinger = 200 * kMillisecond;
constexpr int kMostFalseAlarms = 32;

struct Served {
    Endpoint* endpoint;
    std::uint64_t polls_seen;
    std::uint64_t completions_seen = 0;
    Nanoseconds busy_at = 0;
    Nanoseconds rung_at = 0;
    bool passive = false;   ///< as of the last look
    bool asleep = false;    ///< armed: its descriptor tells when something arrives
    int false_alarms = 0;   ///< in a row
};

class Service {
  public:
    Service() : alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    void add(Endpoint& endpoint) {
        const std::scoped_lock lock(mutex_);
        served_.push_back({&endpoint, endpoint.poll_count()});
        ScopeExit undo([&] { served_.pop_back(); });
        if (!thread_.joinable()) start();
        undo.release();
        ring();
    }

    void remove(Endpoint& endpoint) noexcept {
        std::thread finished;
        {
            const std::scoped_lock lock(mutex_);
            served_.erase(std::remove_if(served_.begin(), served_.end(),
                                         [&](const Served& s) { return s.endpoint == &endpoint; }),
                          served_.end());
            if (served_.empty()) finished = stop();
        }
        if (finished.joinable()) finished.join();
    }

    void abandon() noexcept {
        std::thread finished;
        {
            const std::scoped_lock lock(mutex_);
            served_.clear();
            finished = stop();
        }
        if (finished.joinable()) finished.join();
    }

    void tell_closed(const EndpointName& name) {
        const std::scoped_lock lock(mutex_);
        for (Served& served : served_) {
            const std::scoped_lock endpoint_lock(served.endpoint->mutex());
            served.endpoint->forget_local_peer(name);
        }
    }

    void wake() noexcept {
        if (!awake_.exchange(true, std::memory_order_relaxed)) ring();
    }

  private:
    void start() {
        // The caller's signals are none of this thread's business.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const ScopeExit restore([&] { pthread_sigmask(SIG_SETMASK, &before, nullptr); });
        thread_ = std::thread([this, run = ++run_] { loop(run); });
    }

    // Lock held. A later start gets another run number, so an old thread never serves a new life.
    std::thread stop() noexcept {
        ++run_;
        ring();
        return std::move(thread_);
    }

    void ring() noexcept {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(alarm_.get(), &one, sizeof(one));
    }

    void loop(std::uint64_t run) {
        pthread_setname_np(pthread_self(), "duofi-service");
        std::unique_lock lock(mutex_);
        Nanoseconds pause = kFirstPause, next_tick = 0;
        while (run == run_) {
            const Nanoseconds now = now_ns();
            const bool tick = now >= next_tick;
            if (tick) next_tick = now + kTick;
            bool owed = awake_.exchange(false, std::memory_order_relaxed);
            if (owed) pause = kFirstPause;
            Nanoseconds longest = kTick;  // shorter for targets that are looked at by the clock
            for (Served& served : served_) {
                owed = serve(served, now, tick) || owed;
                if (!served.passive || served.asleep) continue;
                longest = std::min(longest, now - served.rung_at < kEager ? kFirstPause : kPassivePause);
            }
            const Nanoseconds wait = owed ? pause : std::max<Nanoseconds>(next_tick - now_ns(), 0);
            pause = owed ? std::min(pause * 2, kLongestPause) : kFirstPause;
            sleep(lock, std::min(wait, longest));
        }
    }

    // Until something arrives, somebody rings, or the time is over. The lock is free meanwhile.
    void sleep(std::unique_lock<std::mutex>& lock, Nanoseconds wait) {
        waited_.assign(1, {alarm_.get(), POLLIN, 0});
        for (const Served& served : served_)
            if (served.asleep) waited_.push_back({served.endpoint->wait_descriptor(), POLLIN, 0});
        const timespec limit{static_cast<time_t>(wait / kSecond), static_cast<long>(wait % kSecond)};
        lock.unlock();
        const int ready = ::ppoll(waited_.data(), waited_.size(), &limit, nullptr);
        lock.lock();
        std::uint64_t rung = 0;
        if (ready > 0 && waited_[0].revents != 0)
            [[maybe_unused]] const ssize_t got = ::read(alarm_.get(), &rung, sizeof(rung));
        const bool arrived = ready > (waited_[0].revents != 0 ? 1 : 0);
        if (!arrived) return;
        for (Served& served : served_) {
            const auto told = std::any_of(waited_.begin() + 1, waited_.end(), [&](const pollfd& entry) {
                return entry.revents != 0 && entry.fd == served.endpoint->wait_descriptor();
            });
            if (!served.asleep || !told) continue;
            served.asleep = false;
            served.busy_at = served.rung_at = now_ns();
            // A descriptor that keeps calling for nothing is of no use: back to looking by the clock.
            if (++served.false_alarms > kMostFalseAlarms) served.endpoint->forget_wait_descriptor();
        }
    }

    static bool serve(Served& served, Nanoseconds now, bool tick) {
        Endpoint& endpoint = *served.endpoint;
        if (tick)
            endpoint.mutex().lock();  // peers' life must be looked at, however busy the caller is
        else if (!endpoint.mutex().try_lock())
            return true;  // somebody is at work there
        const bool untouched = endpoint.poll_count() == served.polls_seen;
        if (tick) endpoint.tick(now);
        served.passive = endpoint.has_passive_target();
        if (tick || (untouched && !served.asleep && (served.passive || endpoint.owes_progress()))) endpoint.poll();
        if (!untouched || endpoint.completion_count() != served.completions_seen) {
            if (endpoint.completion_count() != served.completions_seen) served.false_alarms = 0;
            served.completions_seen = endpoint.completion_count();
            served.busy_at = now;
            served.asleep = false;
        }
        const bool owed = endpoint.owes_progress();
        if (served.passive && !served.asleep && !owed && now - served.busy_at > kLinger)
            served.asleep = endpoint.arm();
        served.polls_seen = endpoint.poll_count();
        endpoint.mutex().unlock();
        return owed;
    }

    std::mutex mutex_;
    UniqueFd alarm_;
    std::atomic<bool> awake_{false};
    std::vector<Served> served_;
    std::vector<pollfd> waited_;
    std::thread thread_;
    std::uint64_t run_ = 0;
};

// Made with the first endpoint and destroyed with the last, so that nothing is left at unload.
std::mutex g_mutex;
Service* g_service = nullptr;
std::size_t g_endpoints = 0;
std::mutex g_close_turn;

}  // namespace

void service_add(Endpoint& endpoint) {
    const std::scoped_lock lock(g_mutex);
    if (g_service == nullptr) g_service = new Service;
    g_service->add(endpoint);
    ++g_endpoints;
}

void service_remove(Endpoint& endpoint) noexcept {
    const std::scoped_lock lock(g_mutex);
    if (g_service == nullptr) return;
    g_service->remove(endpoint);
    if (--g_endpoints != 0) return;
    delete g_service;
    g_service = nullptr;
}

std::unique_lock<std::mutex> service_close_turn() { return std::unique_lock(g_close_turn); }

void service_tell_closed(const EndpointName& name) noexcept {
    const std::scoped_lock lock(g_mutex);
    if (g_service != nullptr) g_service->tell_closed(name);
}

void service_wake() noexcept {
    const std::scoped_lock lock(g_mutex);
    if (g_service != nullptr) g_service->wake();
}

void service_abandon() noexcept {
    const std::scoped_lock lock(g_mutex);
    if (g_service != nullptr) g_service->abandon();
}

}  // namespace duofi::ofi
