// What a blocking control call does between two polls: first it only lets others run, then it sleeps a little longer
// each time. Never used by data calls (T-5).
#pragma once

#include <sched.h>
#include <time.h>

#include "common/util/clock.hpp"

namespace duofi::rma {

class Pause {
  public:
    void next() noexcept {
        if (rounds_ < kYields) {
            ++rounds_;
            ::sched_yield();
            return;
        }
        const timespec time{0, length_};
        ::nanosleep(&time, nullptr);
        if (length_ < kLongest) length_ *= 2;
    }

  private:
    static constexpr int kYields = 50;
    static constexpr long kLongest = static_cast<long>(kMillisecond);
    int rounds_ = 0;
    long length_ = static_cast<long>(20 * kMicrosecond);
};

}  // namespace duofi::rma
