// The threads that run the channels of a communicator: channel 0 on the caller's thread, one thread
// for each further one, started when first needed and asleep between operations. One caller at a
// time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "p2p/kernels/kernel.hpp"

namespace duofi::p2p {

class ChannelCrew {
  public:
    using Body = std::function<KernelResult(int channel)>;

    ChannelCrew() = default;
    ~ChannelCrew();
    ChannelCrew(const ChannelCrew&) = delete;
    ChannelCrew& operator=(const ChannelCrew&) = delete;

    /// Runs the body for channels 0..channels-1 at the same time and returns when all have ended:
    /// the first result that is not ok, by channel. The body must not throw. Throws
    /// std::system_error when a thread cannot be started; then nothing has begun.
    [[nodiscard]] KernelResult run(int channels, const Body& body);

  private:
    void start_threads(int channels);
    void work(int channel, unsigned long seen);

    std::mutex mutex_;
    std::condition_variable begin_, done_;
    std::vector<std::thread> threads_;
    const Body* body_ = nullptr;
    int channels_ = 0;  ///< of the operation in progress
    int running_ = 0;
    unsigned long operation_ = 0;  ///< number of the operation in progress
    bool stop_ = false;
    std::vector<KernelResult> results_;
};

}  // namespace duofi::p2p
