// What keeps registrations and arriving accesses apart where the provider does not: libfabric's tcp up to 1.18.1 looks the key of
// each access up in a tree that another thread may be changing, since its locks are void there. A key that is not found at that
// moment costs the write and all that follows it on the connection, and nobody is told. Any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "common/ofi/quirks.hpp"

namespace duofi::ofi {

class KeyGuard {
  public:
    using Lock = std::unique_lock<std::mutex>;
    explicit KeyGuard(KeyLookups lookups) : lookups_(lookups) {}
    // Each is held for one call of libfabric: a leaf, inside which no other lock is taken and no line logged. None holds anything
    // where it is not needed.
    /// For a call that changes the provider's keys.
    [[nodiscard]] Lock hold_to_register() noexcept {
        if (lookups_ == KeyLookups::guarded) return {};
        waiting_.fetch_add(1, std::memory_order_relaxed);
        Lock lock(mutex_);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        return lock;
    }
    /// For a call that takes in what peers sent. Who polls all the time would hold the lock almost all of the time.
    [[nodiscard]] Lock hold_to_take_in() noexcept { return hold_if(lookups_ != KeyLookups::guarded); }
    /// For a call that posts.
    [[nodiscard]] Lock hold_to_post() noexcept { return hold_if(lookups_ == KeyLookups::bare_in_posts_too); }

  private:
    [[nodiscard]] Lock hold_if(bool needed) noexcept {
        if (!needed) return {};
        constexpr int kMostYields = 100;
        for (int i = 0; i < kMostYields && waiting_.load(std::memory_order_relaxed) != 0; ++i) std::this_thread::yield();
        return Lock(mutex_);
    }

    const KeyLookups lookups_;
    std::atomic<int> waiting_{0};  ///< registrations
    std::mutex mutex_;
};

}  // namespace duofi::ofi
