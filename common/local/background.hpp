// A thread that sleeps on descriptors and can be woken and stopped: the frame of packet servers and of the watch over
// processes. Its body polls alarm() beside its own descriptors and returns when stopping().
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "common/util/clock.hpp"
#include "common/util/error.hpp"
#include "common/util/fork_mark.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::local {

class BackgroundThread {
  public:
    BackgroundThread();
    ~BackgroundThread() { stop(); }
    BackgroundThread(const BackgroundThread&) = delete;
    BackgroundThread& operator=(const BackgroundThread&) = delete;

    /// Once, by the owner. The thread takes no signals. Errors: system.
    [[nodiscard]] Status start(const char* name, std::function<void()> body);
    /// Wakes the body and joins. In a forked child, where the thread does not exist, nothing is waited for. The owner;
    /// again has no effect.
    void stop() noexcept;
    [[nodiscard]] bool started() const noexcept { return thread_.joinable(); }
    [[nodiscard]] bool in_child() const noexcept { return fork_mark_.in_child(); }

    /// Any thread: alarm() polls readable until the body has called silence().
    void wake() noexcept;
    [[nodiscard]] int alarm() const noexcept { return alarm_.get(); }
    void silence() noexcept;
    [[nodiscard]] bool stopping() const noexcept { return stopping_.load(std::memory_order_acquire); }
    /// Of the body: waits until stopped or woken, at most this long.
    void pause(Nanoseconds longest) const noexcept;

  private:
    ForkMark fork_mark_;
    UniqueFd alarm_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace duofi::local
