// What keeps registrations and arriving accesses apart where the provider does not: libfabric's tcp up to 1.18.1 looks the key of
// each access up in a tree that another thread may be changing, since its locks are void there. A key that is not found at that
// moment costs the write and all that follows it on the connection, and nobody is told. Any thread.
#pragma once

#include <mutex>

#include "common/ofi/quirks.hpp"

namespace duofi::ofi {

class KeyGuard {
  public:
    explicit KeyGuard(KeyLookups lookups) : lookups_(lookups) {}
    /// For one call that changes the provider's keys, or takes in what peers sent. A leaf: no other lock is taken inside, no line
    /// is logged. Holds nothing where it is not needed.
    [[nodiscard]] std::unique_lock<std::mutex> hold() noexcept { return hold_if(lookups_ != KeyLookups::guarded); }
    /// For one call that posts.
    [[nodiscard]] std::unique_lock<std::mutex> hold_for_post() noexcept {
        return hold_if(lookups_ == KeyLookups::bare_in_posts_too);
    }

  private:
    [[nodiscard]] std::unique_lock<std::mutex> hold_if(bool needed) noexcept {
        return needed ? std::unique_lock<std::mutex>(mutex_) : std::unique_lock<std::mutex>();
    }

    const KeyLookups lookups_;
    std::mutex mutex_;
};

}  // namespace duofi::ofi
