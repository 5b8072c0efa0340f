// Numbers by which peers address the comms of an endpoint. A number carries a generation, so that late
// traffic for a closed comm finds nobody. Guarded by the endpoint's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ofi/message.hpp"

namespace duofi::ofi {

/// Owner of a port: gets the messages sent to it, under the endpoint's lock.
class PortOwner {
  public:
    virtual ~PortOwner() = default;
    virtual void on_message(const Message& message) noexcept = 0;
    /// A peer has written into memory of ours and says so with `word`, whose low 16 bits are those of the port. `bytes`:
    /// how many (P1).
    virtual void on_write(std::uint32_t word, std::size_t bytes) noexcept { (void)word, (void)bytes; }
};

class PortTable {
  public:
    static constexpr std::size_t kMaxPorts = 1u << 16;

    /// A new number for `owner`, or 0 when all are taken.
    [[nodiscard]] std::uint32_t open(PortOwner* owner) {
        std::uint32_t slot;
        if (free_head_ != kNone) {
            slot = free_head_;
            free_head_ = slots_[slot].next_free;
        } else {
            if (slots_.size() >= kMaxPorts) return 0;
            slot = static_cast<std::uint32_t>(slots_.size());
            slots_.push_back({});
        }
        slots_[slot].owner = owner;
        return slots_[slot].generation << 16 | slot;
    }
    void close(std::uint32_t port) noexcept {
        const std::uint32_t slot = port & 0xffff;
        if (find(port) == nullptr) return;
        slots_[slot].owner = nullptr;
        slots_[slot].generation = slots_[slot].generation % 0xffff + 1;  // never 0: port 0 is special
        slots_[slot].next_free = free_head_;
        free_head_ = slot;
    }
    /// Another object answers at an open port from now on.
    void hand_over(std::uint32_t port, PortOwner* owner) noexcept {
        if (find(port) != nullptr) slots_[port & 0xffff].owner = owner;
    }
    [[nodiscard]] PortOwner* find(std::uint32_t port) const noexcept {
        const std::uint32_t slot = port & 0xffff;
        if (slot >= slots_.size() || slots_[slot].generation != port >> 16) return nullptr;
        return slots_[slot].owner;
    }

    /// The owner of the port with these low 16 bits: a word beside a write has no room for the generation. Who lets peers
    /// write keeps the port until nothing more can come.
    [[nodiscard]] PortOwner* find_by_slot(std::uint32_t slot) const noexcept {
        return slot < slots_.size() ? slots_[slot].owner : nullptr;
    }

  private:
    static constexpr std::uint32_t kNone = ~0u;
    struct Slot {
        PortOwner* owner = nullptr;
        std::uint32_t generation = 1;
        std::uint32_t next_free = kNone;
    };
    std::vector<Slot> slots_;
    std::uint32_t free_head_ = kNone;
};

}  // namespace duofi::ofi
