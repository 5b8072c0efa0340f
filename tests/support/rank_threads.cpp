#include "tests/support/rank_threads.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace duofi::test {
namespace {

// The first failure of several threads; any thread.
class FirstFailure {
  public:
    explicit FirstFailure(RankChannel& channel) : channel_(channel) {}
    void run(const std::function<void()>& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            channel_.break_group();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    RankChannel& channel_;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

void in_threads(const Rank& rank, int threads, const std::function<void(Rank&)>& body) {
    require(threads >= 1 && threads < RankChannel::kLanes, "{} threads", threads);
    FirstFailure failure(*rank.channel);
    std::vector<std::thread> running;
    for (int lane = 1; lane <= threads; ++lane) {
        running.emplace_back([&, lane] {
            Rank own = rank;
            own.lane = lane;
            failure.run([&] { body(own); });
        });
    }
    for (std::thread& thread : running) thread.join();
    failure.rethrow();
}

void run_beside(const Rank& rank, const std::function<void()>& main, const std::function<void()>& beside) {
    FirstFailure failure(*rank.channel);
    std::thread second([&] { failure.run(beside); });
    failure.run(main);
    second.join();
    failure.rethrow();
}

}  // namespace duofi::test
