#include "sim_fabric/nic_thread.hpp"

#include <poll.h>
#include <pthread.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/local/background.hpp"
#include "sim_fabric/endpoint.hpp"

namespace duofi::sim {
namespace {

constexpr Nanoseconds kPause = 100 * kMicrosecond;      // between looks while there is traffic
constexpr Nanoseconds kLinger = 20 * kMillisecond;      // traffic was seen so long ago
constexpr Nanoseconds kCallersTurn = kMillisecond;      // an endpoint whose caller polls is left alone
constexpr Nanoseconds kLongestSleep = 100 * kMillisecond;  // peers that are gone are noticed

class NicThread {
  public:
    [[nodiscard]] int start() {
        return thread_.start("duofisim-nic", [this] { run(); }) ? 0 : -FI_ENOMEM;
    }
    void add(Endpoint& endpoint) {
        {
            const std::scoped_lock lock(mutex_);
            endpoints_.push_back(&endpoint);
        }
        thread_.wake();
    }
    /// True: it was the last one.
    bool remove(Endpoint& endpoint) noexcept {
        const std::scoped_lock lock(mutex_);
        std::erase(endpoints_, &endpoint);
        return endpoints_.empty();
    }

  private:
    void run() {
        Nanoseconds busy_at = now_ns();
        while (!thread_.stopping()) {
            const Nanoseconds now = now_ns();
            Nanoseconds due = 0;
            if (look(now)) busy_at = now;
            Nanoseconds wait = kPause;
            if (now - busy_at > kLinger && everyone_sleeps(due)) wait = kLongestSleep;
            if (due != 0) wait = std::clamp<Nanoseconds>(due - now_ns(), 0, wait);
            sleep(wait, wait > kPause);
        }
    }

    bool look(Nanoseconds now) {
        const std::scoped_lock lock(mutex_);
        bool busy = false;
        for (Endpoint* endpoint : endpoints_) {
            if (now - endpoint->polled_at() < kCallersTurn)
                busy = true;
            else
                busy = endpoint->progress_by_nic(now) || busy;
        }
        return busy;
    }

    bool everyone_sleeps(Nanoseconds& due) {
        const std::scoped_lock lock(mutex_);
        bool sleeps = true;
        for (Endpoint* endpoint : endpoints_) {
            Nanoseconds next = 0;
            sleeps = endpoint->fall_asleep(next) && sleeps;
            if (next != 0) due = due == 0 ? next : std::min(due, next);
        }
        return sleeps;
    }

    void sleep(Nanoseconds wait, bool with_sockets) {
        waited_.assign(1, {thread_.alarm(), POLLIN, 0});
        if (with_sockets) {
            const std::scoped_lock lock(mutex_);
            for (const Endpoint* endpoint : endpoints_) waited_.push_back({endpoint->socket(), POLLIN, 0});
        }
        const timespec limit{static_cast<time_t>(wait / kSecond), static_cast<long>(wait % kSecond)};
        ::ppoll(waited_.data(), waited_.size(), &limit, nullptr);
        if (waited_[0].revents != 0) thread_.silence();
    }

    std::mutex mutex_;
    std::vector<Endpoint*> endpoints_;
    std::vector<pollfd> waited_;
    local::BackgroundThread thread_;
};

std::mutex g_mutex;
NicThread* g_thread = nullptr;
std::vector<Endpoint*> g_threadless;  // in manual mode

}  // namespace

int nic_add(Endpoint& endpoint) {
    const std::scoped_lock lock(g_mutex);
    if (knobs().manual) {
        g_threadless.push_back(&endpoint);
        return 0;
    }
    if (g_thread == nullptr) {
        auto made = std::make_unique<NicThread>();
        if (const int code = made->start(); code != 0) return code;
        g_thread = made.release();
    }
    g_thread->add(endpoint);
    return 0;
}

bool nic_stop() noexcept {
    const std::scoped_lock lock(g_mutex);
    const std::unique_ptr<NicThread> left(std::exchange(g_thread, nullptr));
    return left == nullptr && g_threadless.empty();
}

void nic_remove(Endpoint& endpoint) noexcept {
    const std::scoped_lock lock(g_mutex);
    std::erase(g_threadless, &endpoint);
    if (g_thread != nullptr && g_thread->remove(endpoint)) delete std::exchange(g_thread, nullptr);
}

}  // namespace duofi::sim
