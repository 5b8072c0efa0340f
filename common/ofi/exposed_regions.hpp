// Regions of a domain whose keys were given out: what peers may reach into, and what they are told when they ask. Any
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace duofi::ofi {

/// The addresses behind a key, in the process that registered them.
struct ExposedRegion {
    std::uint64_t address = 0;
    std::uint64_t length = 0;  ///< bytes
};

class ExposedRegions {
  public:
    /// Counted: the key is known until it was removed as often. Throws std::bad_alloc.
    void add(std::uint64_t key, const ExposedRegion& region) {
        const std::scoped_lock lock(mutex_);
        Entry& entry = entries_[key];
        entry.region = region;
        ++entry.uses;
        count_.store(entries_.size(), std::memory_order_relaxed);
    }
    void remove(std::uint64_t key) noexcept {
        const std::scoped_lock lock(mutex_);
        const auto found = entries_.find(key);
        if (found == entries_.end() || --found->second.uses != 0) return;
        entries_.erase(found);
        count_.store(entries_.size(), std::memory_order_relaxed);
    }
    [[nodiscard]] std::optional<ExposedRegion> find(std::uint64_t key) const {
        const std::scoped_lock lock(mutex_);
        const auto found = entries_.find(key);
        if (found == entries_.end()) return std::nullopt;
        return found->second.region;
    }
    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  private:
    struct Entry {
        ExposedRegion region;
        std::uint32_t uses = 0;
    };
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace duofi::ofi
