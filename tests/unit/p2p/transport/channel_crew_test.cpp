// The threads of the channels. Units: p2p/channel_crew.
#include "p2p/channel_crew.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <system_error>
#include <thread>

#include "common/util/clock.hpp"
#include "tests/support/failure.hpp"

namespace duofi::p2p::test {
namespace {

TEST(ChannelCrew, runs_all_channels_and_returns_the_first_failure) {
    ChannelCrew crew;
    for (int round = 0; round < 100; ++round) {
        std::array<std::atomic<int>, 4> seen{};
        const ChannelCrew::Body body = [&](int channel) {
            ++seen[static_cast<std::size_t>(channel)];
            return channel >= 2 && round % 2 == 1 ? KernelResult::timed_out : KernelResult::ok;
        };
        const int channels = 1 + round % 4;
        const bool fails = channels > 2 && round % 2 == 1;
        EXPECT_EQ(crew.run(channels, body), fails ? KernelResult::timed_out : KernelResult::ok);
        for (int channel = 0; channel < 4; ++channel)
            EXPECT_EQ(seen[static_cast<std::size_t>(channel)], channel < channels ? 1 : 0);
    }
}

/// While it lives, address space is left for the stack of one more thread, not for two.
class RoomForOneStack {
  public:
    RoomForOneStack() {
        constexpr rlim_t kStack = rlim_t{1} << 30;
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t wide;
        ::pthread_attr_init(&wide);
        ::pthread_attr_setstacksize(&wide, kStack);
        EXPECT_EQ(::pthread_setattr_default_np(&wide), 0);
        ::pthread_attr_destroy(&wide);
        rlim_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        EXPECT_EQ(::getrlimit(RLIMIT_AS, &limit_), 0);
        rlimit narrow = limit_;
        narrow.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kStack / 2 * 3;
        EXPECT_EQ(::setrlimit(RLIMIT_AS, &narrow), 0);
    }
    ~RoomForOneStack() {
        ::setrlimit(RLIMIT_AS, &limit_);
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }
    RoomForOneStack(const RoomForOneStack&) = delete;
    RoomForOneStack& operator=(const RoomForOneStack&) = delete;

  private:
    pthread_attr_t before_{};
    rlimit limit_{};
};

TEST(ChannelCrew, an_operation_without_its_threads_does_not_begin) {
    if (duofi::test::kSanitized) GTEST_SKIP() << "sanitizers need address space of their own";
    for (int attempt = 0; attempt < 5; ++attempt) {
        std::atomic<int> begun{0};
        std::atomic<int> channels{0};
        const ChannelCrew::Body never = [&](int) {
            ++begun;
            return KernelResult::ok;
        };
        const ChannelCrew::Body later = [&](int channel) {
            channels += 1 << channel;
            return KernelResult::ok;
        };
        ChannelCrew crew;
        {
            const RoomForOneStack room;
            EXPECT_THROW(static_cast<void>(crew.run(4, never)), std::system_error);
        }
        // The one thread that could start must not know of what did not begin.
        const Deadline moment(10 * kMillisecond);
        while (begun == 0 && !moment.passed()) std::this_thread::yield();
        ASSERT_EQ(begun, 0);
        EXPECT_EQ(crew.run(4, later), KernelResult::ok);
        EXPECT_EQ(channels, 15);
    }
}

}  // namespace
}  // namespace duofi::p2p::test
