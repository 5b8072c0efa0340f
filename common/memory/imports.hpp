// Which handles this process has open, and with which device: they are closed with the same one.
// Any thread.
#pragma once

#include <map>
#include <mutex>

#include "common/util/error.hpp"
#include "common/util/messages/memory.hpp"

namespace duofi::memory {

class Imports {
  public:
    /// A driver gives the same address for a handle that is open already, and counts.
    void opened(void* memory, int device) {
        const std::scoped_lock lock(mutex_);
        Entry& entry = open_[memory];
        if (entry.count++ == 0) entry.device = device;
    }
    /// The device to close it with. Errors: invalid_argument when it is not open.
    [[nodiscard]] Result<int> closing(void* memory) {
        const std::scoped_lock lock(mutex_);
        const auto found = open_.find(memory);
        if (found == open_.end()) return fail(Errc::invalid_argument, messages::kNotAnAllocation);
        const int device = found->second.device;
        if (--found->second.count == 0) open_.erase(found);
        return device;
    }

  private:
    struct Entry {
        int device = 0;
        int count = 0;
    };
    std::mutex mutex_;
    std::map<void*, Entry> open_;
};

}  // namespace duofi::memory
