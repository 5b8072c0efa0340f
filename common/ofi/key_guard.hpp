// What keeps registrations and arriving accesses apart where the provider does not: libfabric's net up to 1.17 looks the key of
// each write up in a tree that another thread may be changing (its locks are void there, up to 1.18.1). A key that is not found at
// that moment costs the write and all that follows it on the connection, and nobody is told. Any thread.
#pragma once

#include <mutex>

namespace duofi::ofi {

class KeyGuard {
  public:
    explicit KeyGuard(bool needed) : needed_(needed) {}
    /// For one call that changes the provider's keys, or may take in what a peer sent. A leaf: nothing is locked inside. Holds
    /// nothing where it is not needed.
    [[nodiscard]] std::unique_lock<std::mutex> hold() noexcept {
        return needed_ ? std::unique_lock<std::mutex>(mutex_) : std::unique_lock<std::mutex>();
    }

  private:
    const bool needed_;
    std::mutex mutex_;
};

}  // namespace duofi::ofi
