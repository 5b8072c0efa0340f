// Counts sends (or receives) per tag: the k-th send with a tag belongs to the k-th receive with it (net contract
// 3.4), on whatever path and in whatever order the two travel. Guarded by the endpoint's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace duofi::net {

class TagOrder {
  public:
    static constexpr std::size_t kMaxTags = 1u << 16;

    TagOrder() : slots_(8) {}

    /// Number of the next message with this tag, without taking it. false: too many different tags.
    [[nodiscard]] bool peek(int tag, std::uint32_t& index) {
        Slot* slot = find(tag);
        if (slot == nullptr) return false;
        index = slot->next;
        return true;
    }
    /// Takes the number that peek gave.
    void advance(int tag) { ++find(tag)->next; }
    /// Has the number been given out already?
    [[nodiscard]] bool given(int tag, std::uint32_t index) {
        Slot* slot = find(tag);
        return slot != nullptr && static_cast<std::int32_t>(index - slot->next) < 0;
    }

  private:
    struct Slot {
        int tag = 0;
        bool used = false;
        std::uint32_t next = 0;
    };

    Slot* find(int tag) {
        Slot& last = slots_[last_];
        if (last.used && last.tag == tag) return &last;
        for (std::size_t i = hash(tag);; i = (i + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[i];
            if (slot.used && slot.tag != tag) continue;
            if (!slot.used) {
                if (used_ >= kMaxTags) return nullptr;
                if (2 * (used_ + 1) > slots_.size()) {
                    grow();
                    return find(tag);
                }
                slot = {tag, true, 0};
                ++used_;
            }
            last_ = i;
            return &slot;
        }
    }
    [[nodiscard]] std::size_t hash(int tag) const noexcept {
        return (static_cast<std::uint32_t>(tag) * 2654435769u >> 7) & (slots_.size() - 1);
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        last_ = 0;
        for (const Slot& slot : old) {
            if (!slot.used) continue;
            std::size_t i = hash(slot.tag);
            while (slots_[i].used) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::size_t last_ = 0;  ///< the tag asked for last, nearly always the next one too
};

}  // namespace duofi::net
