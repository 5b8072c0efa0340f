#include "p2p/channel_crew.hpp"

#include <algorithm>

namespace duofi::p2p {

ChannelCrew::~ChannelCrew() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

KernelResult ChannelCrew::run(int channels, const Body& body) {
    if (channels == 1) return body(0);
    start_threads(channels);
    {
        const std::lock_guard lock(mutex_);
        results_.assign(static_cast<std::size_t>(channels), KernelResult::ok);
        body_ = &body;
        channels_ = channels;
        running_ = channels - 1;
        ++operation_;
    }
    begin_.notify_all();
    const KernelResult mine = body(0);
    std::unique_lock lock(mutex_);
    // Kernels end by themselves: each of their waits sees aborts and the limit of a wait.
    done_.wait(lock, [this] { return running_ == 0; });
    results_.front() = mine;
    const auto failed = std::ranges::find_if(
        results_, [](KernelResult result) { return result != KernelResult::ok; });
    return failed == results_.end() ? KernelResult::ok : *failed;
}

void ChannelCrew::start_threads(int channels) {
    while (static_cast<int>(threads_.size()) < channels - 1) {
        const int channel = static_cast<int>(threads_.size()) + 1;
        // The operations so far were not for it.
        threads_.emplace_back([this, channel, seen = operation_] { work(channel, seen); });
    }
}

void ChannelCrew::work(int channel, unsigned long seen) {
    std::unique_lock lock(mutex_);
    while (true) {
        begin_.wait(lock, [&] { return stop_ || operation_ != seen; });
        if (stop_) return;
        seen = operation_;
        if (channel >= channels_) continue;
        const Body& body = *body_;
        lock.unlock();
        const KernelResult result = body(channel);
        lock.lock();
        results_[static_cast<std::size_t>(channel)] = result;
        if (--running_ == 0) done_.notify_all();
    }
}

}  // namespace duofi::p2p
