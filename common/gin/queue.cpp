#include "common/gin/queue.hpp"

namespace duofi::gin {
namespace {

void rolling_max(std::atomic<std::uint32_t>& place, std::uint32_t value) noexcept {
    std::uint32_t seen = place.load(std::memory_order_relaxed);
    while (before(seen, value) &&
           !place.compare_exchange_weak(seen, value, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
}

}  // namespace

std::uint32_t queue_depth(std::int64_t configured, int max_recvs) noexcept {
    const std::int64_t most = 32 * static_cast<std::int64_t>(max_recvs < 1 ? 1 : max_recvs);
    const bool counts =
        configured >= 1 && configured <= most && (configured & (configured - 1)) == 0;
    return static_cast<std::uint32_t>(counts ? configured : most);
}

Queues::Queues(int peers, std::uint32_t depth)
    : peers_(peers),
      depth_(depth),
      slots_(std::make_unique<Slot[]>(static_cast<std::size_t>(peers) * depth)),
      producers_(std::make_unique<Producer[]>(static_cast<std::size_t>(peers))),
      consumers_(std::make_unique<Consumer[]>(static_cast<std::size_t>(peers))) {}

std::uint32_t Queues::reserve(int peer) noexcept {
    return producers_[peer].index.fetch_add(1, std::memory_order_relaxed);
}

bool Queues::has_credit(int peer, std::uint32_t index) const noexcept {
    return index - consumed(peer) < depth_;
}

void Queues::write(int peer, std::uint32_t index, const PackedDescriptor& packed) noexcept {
    Slot& target = slot(peer, index);
    for (std::size_t i = 0; i < kDescriptorWords; ++i)
        target.words[i].store(packed.words[i], std::memory_order_release);
}

std::uint32_t Queues::produced(int peer) const noexcept {
    return producers_[peer].index.load(std::memory_order_acquire);
}

std::uint32_t Queues::consumed(int peer) const noexcept {
    return consumers_[peer].index.load(std::memory_order_acquire);
}

void Queues::note_get(int peer, std::uint32_t end) noexcept {
    rolling_max(producers_[peer].last_get, end);
}

void Queues::note_visible(int peer, std::uint32_t end) noexcept {
    rolling_max(producers_[peer].last_visible, end);
}

std::uint32_t Queues::last_get(int peer) const noexcept {
    return producers_[peer].last_get.load(std::memory_order_acquire);
}

std::uint32_t Queues::last_visible(int peer) const noexcept {
    return producers_[peer].last_visible.load(std::memory_order_acquire);
}

bool Queues::is_written(int peer, std::uint32_t index) const noexcept {
    return (slot(peer, index).words[0].load(std::memory_order_acquire) & kWordFlag) != 0;
}

bool Queues::take(int peer, std::uint32_t index, PackedDescriptor& packed) noexcept {
    Slot& source = slot(peer, index);
    std::uint64_t flags = kWordFlag;
    for (std::size_t i = 0; i < kDescriptorWords; ++i) {
        packed.words[i] = source.words[i].load(std::memory_order_acquire);
        flags &= packed.words[i];
    }
    if (flags == 0) return false;
    for (auto& word : source.words) word.store(0, std::memory_order_relaxed);
    return true;
}

void Queues::publish_consumed(int peer, std::uint32_t end) noexcept {
    consumers_[peer].index.store(end, std::memory_order_release);
}

}  // namespace duofi::gin
