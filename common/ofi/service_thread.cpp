#include "common/ofi/service_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "common/ofi/endpoint.hpp"

namespace duofi::ofi {

namespace {

constexpr Nanoseconds kTick = 50 * kMillisecond;
constexpr Nanoseconds kFirstPause = 50 * kMicrosecond;
constexpr Nanoseconds kLongestPause = kMillisecond;

struct Served {
    Endpoint* endpoint;
    std::uint64_t polls_seen;
};

class Service {
  public:
    void add(Endpoint& endpoint) {
        const std::scoped_lock lock(mutex_);
        served_.push_back({&endpoint, endpoint.poll_count()});
        if (!thread_.joinable()) start();
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
        if (awake_.exchange(true, std::memory_order_relaxed)) return;
        const std::scoped_lock lock(mutex_);  // or the thread could be between its look and its sleep
        wake_up_.notify_one();
    }

  private:
    void start() {
        // The caller's signals are none of this thread's business.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this, run = ++run_] { loop(run); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    // Lock held. A later start gets another run number, so an old thread never serves a new life.
    std::thread stop() noexcept {
        ++run_;
        wake_up_.notify_all();
        return std::move(thread_);
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
            for (Served& served : served_) owed = serve(served, now, tick) || owed;
            const Nanoseconds wait = owed ? pause : std::max<Nanoseconds>(next_tick - now_ns(), 0);
            pause = owed ? std::min(pause * 2, kLongestPause) : kFirstPause;
            if (awake_.load(std::memory_order_relaxed) && !owed) continue;
            wake_up_.wait_for(lock, std::chrono::nanoseconds(wait));
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
        if (tick || (untouched && endpoint.owes_progress())) endpoint.poll();
        served.polls_seen = endpoint.poll_count();
        const bool owed = endpoint.owes_progress();
        endpoint.mutex().unlock();
        return owed;
    }

    std::mutex mutex_;
    std::condition_variable wake_up_;
    std::atomic<bool> awake_{false};
    std::vector<Served> served_;
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
