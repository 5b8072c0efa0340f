// Address ranges -> values; ranges may overlap, nest and repeat. Made for registrations: lookups
// happen per operation and cost O(log n), inserts and erases happen per registration and cost O(n)
// moves. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace duofi {

/// Maps [start, start + length) to `V` (copyable or movable; == is needed for erase).
template <typename V>
class IntervalMap {
  public:
    /// Adds a range. False, and nothing added, for length 0 or a range that runs past the end of
    /// the address space (net P4: providers accept both, we do not). Throws std::bad_alloc.
    bool insert(std::uintptr_t start, std::size_t length, V value) {
        const std::uintptr_t end = start + length;
        if (end <= start) return false;
        const auto place = std::upper_bound(
            entries_.begin(), entries_.end(), start,
            [](std::uintptr_t wanted, const Entry& entry) { return wanted < entry.start; });
        const auto index = static_cast<std::size_t>(place - entries_.begin());
        entries_.insert(place, Entry{start, end, end, std::move(value)});
        refresh_from(index);
        return true;
    }

    /// Removes one range that has exactly these bounds and this value. False when there is none.
    bool erase(std::uintptr_t start, std::size_t length, const V& value) {
        for (std::size_t i = first_at(start); i < entries_.size() && entries_[i].start == start;
             ++i) {
            if (entries_[i].end - start != length || !(entries_[i].value == value)) continue;
            entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
            refresh_from(i);
            return true;
        }
        return false;
    }

    /// A value whose range covers all of [address, address + length), or nullptr. Among several,
    /// the one that starts lowest. Length 0 asks for the point `address`, where the end of a range
    /// counts. The pointer is good until the next insert or erase.
    [[nodiscard]] V* find_covering(std::uintptr_t address, std::size_t length) noexcept {
        const std::uintptr_t end = address + length;
        if (end < address) return nullptr;
        const std::size_t candidates = first_above(address);  // these start at or below `address`
        // reach never falls from left to right, so the first entry that reaches far enough is found
        // by halving, and it is that entry itself that reaches there.
        const auto found = std::lower_bound(
            entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(candidates), end,
            [](const Entry& entry, std::uintptr_t wanted) { return entry.reach < wanted; });
        if (found == entries_.begin() + static_cast<std::ptrdiff_t>(candidates)) return nullptr;
        return &found->value;
    }
    [[nodiscard]] const V* find_covering(std::uintptr_t address,
                                         std::size_t length) const noexcept {
        return const_cast<IntervalMap*>(this)->find_covering(address, length);
    }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  private:
    struct Entry {
        std::uintptr_t start;
        std::uintptr_t end;    // one past the last byte
        std::uintptr_t reach;  // largest end of this entry and all before it
        V value;
    };

    [[nodiscard]] std::size_t first_above(std::uintptr_t address) const noexcept {
        const auto place = std::upper_bound(
            entries_.begin(), entries_.end(), address,
            [](std::uintptr_t wanted, const Entry& entry) { return wanted < entry.start; });
        return static_cast<std::size_t>(place - entries_.begin());
    }
    [[nodiscard]] std::size_t first_at(std::uintptr_t start) const noexcept {
        const auto place = std::lower_bound(
            entries_.begin(), entries_.end(), start,
            [](const Entry& entry, std::uintptr_t wanted) { return entry.start < wanted; });
        return static_cast<std::size_t>(place - entries_.begin());
    }
    void refresh_from(std::size_t index) noexcept {
        std::uintptr_t reach = index == 0 ? 0 : entries_[index - 1].reach;
        for (; index < entries_.size(); ++index) {
            reach = std::max(reach, entries_[index].end);
            entries_[index].reach = reach;
        }
    }

    std::vector<Entry> entries_;  // by rising start, equal starts in order of insertion
};

}  // namespace duofi
