// A mutex whose failure is an exception (report A24: no abort inside the host).
#include "common/util/mutex.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace duofi {
namespace {

TEST(Mutex, LockingItTwiceThrows) {
    Mutex mutex;
    mutex.lock();
    try {
        mutex.lock();
        FAIL() << "locked twice";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EDEADLK);
    }
    mutex.unlock();
    const std::scoped_lock works(mutex);
}

TEST(Mutex, TryLockTellsWhetherItIsHeld) {
    Mutex mutex;
    ASSERT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    bool other = true;
    std::thread([&] { other = mutex.try_lock(); }).join();
    EXPECT_FALSE(other);
    mutex.unlock();
    std::thread([&] {
        other = mutex.try_lock();
        if (other) mutex.unlock();
    }).join();
    EXPECT_TRUE(other);
}

TEST(Mutex, ProtectsACounter) {
    Mutex mutex;
    long counter = 0;
    const auto add = [&] {
        for (int i = 0; i < 20000; ++i) {
            const std::scoped_lock lock(mutex);
            ++counter;
        }
    };
    std::thread first(add), second(add);
    first.join();
    second.join();
    EXPECT_EQ(counter, 40000);
}

}  // namespace
}  // namespace duofi
