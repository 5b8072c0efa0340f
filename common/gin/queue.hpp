// The rings of one context: one per peer, with credits (rma contract 4.1, 4.3). Threads: any number
// of producers; the functions of the consumer belong to one proxy thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/gin/descriptor.hpp"

namespace duofi::gin {

/// Order on 32-bit indices that wrap: a comes before b.
[[nodiscard]] constexpr bool before(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

/// What the callers make of a configured depth: it counts if it is a power of two from 1 to
/// 32 * max_recvs, else the depth is 32 * max_recvs.
[[nodiscard]] std::uint32_t queue_depth(std::int64_t configured, int max_recvs) noexcept;

class Queues {
  public:
    /// `depth` is a power of two.
    Queues(int peers, std::uint32_t depth);
    [[nodiscard]] int peers() const noexcept { return peers_; }
    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

    // --- Producers.
    /// Takes the next index of a peer's ring. The owner must then wait for credit and write.
    [[nodiscard]] std::uint32_t reserve(int peer) noexcept;
    /// The index is less than `depth` ahead of what was consumed.
    [[nodiscard]] bool has_credit(int peer, std::uint32_t index) const noexcept;
    void write(int peer, std::uint32_t index, const PackedDescriptor& packed) noexcept;
    [[nodiscard]] std::uint32_t produced(int peer) const noexcept;
    /// Operations of the ring that are done, in order.
    [[nodiscard]] std::uint32_t consumed(int peer) const noexcept;
    /// Rolling maxima of the gets issued and of those that a flush made visible.
    void note_get(int peer, std::uint32_t end) noexcept;
    void note_visible(int peer, std::uint32_t end) noexcept;
    [[nodiscard]] std::uint32_t last_get(int peer) const noexcept;
    [[nodiscard]] std::uint32_t last_visible(int peer) const noexcept;

    // --- Consumer.
    /// The first word of the slot is there.
    [[nodiscard]] bool is_written(int peer, std::uint32_t index) const noexcept;
    /// Copies the words that are there on top of `packed`; true when all 16 are, and then the slot
    /// is zeroed.
    [[nodiscard]] bool take(int peer, std::uint32_t index, PackedDescriptor& packed) noexcept;
    void publish_consumed(int peer, std::uint32_t end) noexcept;

  private:
    struct alignas(128) Slot {
        std::array<std::atomic<std::uint64_t>, kDescriptorWords> words{};
    };
    /// Producers and consumer write different cache lines.
    struct alignas(64) Producer {
        std::atomic<std::uint32_t> index{0}, last_get{0}, last_visible{0};
    };
    struct alignas(64) Consumer {
        std::atomic<std::uint32_t> index{0};
    };
    [[nodiscard]] Slot& slot(int peer, std::uint32_t index) const noexcept {
        return slots_[static_cast<std::size_t>(peer) * depth_ + (index & (depth_ - 1))];
    }

    int peers_;
    std::uint32_t depth_;
    std::unique_ptr<Slot[]> slots_;
    std::unique_ptr<Producer[]> producers_;
    std::unique_ptr<Consumer[]> consumers_;
};

}  // namespace duofi::gin
