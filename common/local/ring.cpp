#include "common/local/ring.hpp"

#include <bit>
#include <cerrno>
#include <cstring>

#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

enum Kind : std::uint32_t { kMessage = 1, kSkip = 2 };  // kSkip: the rest up to the end of the memory is unused

struct Head {
    std::uint32_t bytes;
    std::uint32_t kind;
};
static_assert(sizeof(Head) == RingEnd::kHead);

constexpr std::size_t kLeast = 256;
constexpr std::size_t kMost = std::size_t{1} << 32;  // Head::bytes holds half of it

constexpr std::size_t with_head(std::size_t bytes) noexcept {
    return (RingEnd::kHead + bytes + 7) / 8 * 8;
}

std::uint64_t load(std::uint64_t& word, std::memory_order order) noexcept {
    return std::atomic_ref<std::uint64_t>(word).load(order);
}

Result<RingHeader*> checked(std::span<std::byte> memory) {
    const std::size_t capacity = memory.size() - sizeof(RingHeader);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (memory.size() < ring_memory(kLeast) || capacity > kMost || !std::has_single_bit(capacity) ||
        address % alignof(RingHeader) != 0)
        return fail(Errc::invalid_argument, messages::kRingMemory, EINVAL);
    return reinterpret_cast<RingHeader*>(memory.data());
}

}  // namespace

RingEnd::RingEnd(RingHeader* header, std::size_t capacity) noexcept
    : header_(header),
      data_(reinterpret_cast<std::byte*>(header) + sizeof(RingHeader)),
      capacity_(capacity),
      mask_(capacity - 1) {}

Result<RingWriter> RingWriter::attach(std::span<std::byte> memory) {
    DUOFI_ASSIGN(RingHeader * header, checked(memory));
    RingWriter writer(header, memory.size() - sizeof(RingHeader));
    writer.mine_ = writer.next_ = load(header->produced, std::memory_order_relaxed);
    writer.theirs_ = load(header->consumed, std::memory_order_acquire);
    writer.broken_ = writer.mine_ - writer.theirs_ > writer.capacity_ || writer.mine_ % 8 != 0;
    return writer;
}

bool RingWriter::has_room(std::uint64_t up_to) noexcept {
    if (up_to - theirs_ <= capacity_) return true;
    const std::uint64_t consumed = load(header_->consumed, std::memory_order_acquire);
    if (consumed - theirs_ > mine_ - theirs_) {  // backwards, or beyond what was ever published
        broken_ = true;
        return false;
    }
    theirs_ = consumed;
    return up_to - theirs_ <= capacity_;
}

std::span<std::byte> RingWriter::reserve(std::size_t bytes) noexcept {
    if (broken_ || bytes == 0 || bytes > largest()) return {};
    const std::size_t need = with_head(bytes);
    const std::size_t left = capacity_ - (mine_ & mask_);
    const std::size_t skipped = left < need ? left : 0;
    if (!has_room(mine_ + skipped + need)) return {};
    if (skipped != 0) {
        const Head skip{static_cast<std::uint32_t>(skipped - kHead), kSkip};
        std::memcpy(at(mine_), &skip, sizeof(skip));
    }
    const std::uint64_t start = mine_ + skipped;
    const Head head{static_cast<std::uint32_t>(bytes), kMessage};
    std::memcpy(at(start), &head, sizeof(head));
    next_ = start + need;
    return {at(start) + kHead, bytes};
}

void RingWriter::publish() noexcept {
    mine_ = next_;
    std::atomic_ref<std::uint64_t>(header_->produced).store(mine_, std::memory_order_release);
}

bool RingWriter::try_write(std::span<const std::byte> message) noexcept {
    const auto room = reserve(message.size());
    if (room.empty()) return false;
    std::memcpy(room.data(), message.data(), message.size());
    publish();
    return true;
}

Result<RingReader> RingReader::attach(std::span<std::byte> memory) {
    DUOFI_ASSIGN(RingHeader * header, checked(memory));
    RingReader reader(header, memory.size() - sizeof(RingHeader));
    reader.mine_ = reader.next_ = reader.theirs_ = load(header->consumed, std::memory_order_relaxed);
    reader.broken_ = reader.mine_ % 8 != 0;
    return reader;
}

// Whether the writer has published up to this position.
bool RingReader::seen(std::uint64_t up_to) noexcept {
    if (up_to - mine_ <= theirs_ - mine_) return true;
    const std::uint64_t produced = load(header_->produced, std::memory_order_acquire);
    const std::uint64_t waiting = produced - mine_;
    if (waiting < theirs_ - mine_ || waiting > capacity_ || produced % 8 != 0) {
        broken_ = true;
        return false;
    }
    theirs_ = produced;
    return up_to - mine_ <= theirs_ - mine_;
}

std::span<const std::byte> RingReader::peek() noexcept {
    if (broken_) return {};
    std::uint64_t start = mine_;
    for (int heads = 0; heads < 2; ++heads) {
        if (!seen(start + kHead)) break;
        Head head{};
        std::memcpy(&head, at(start), sizeof(head));
        const std::size_t left = capacity_ - (start & mask_);
        const std::size_t need = with_head(head.bytes);
        const bool fits = need <= left && need <= theirs_ - start;
        if (head.kind == kMessage && head.bytes != 0 && head.bytes <= largest() && fits) {
            next_ = start + need;
            return {at(start) + kHead, head.bytes};
        }
        if (head.kind != kSkip || heads != 0 || need != left || !fits) {
            broken_ = true;
            break;
        }
        start += need;
    }
    return {};
}

void RingReader::release() noexcept {
    if (next_ == mine_) return;
    mine_ = next_;
    std::atomic_ref<std::uint64_t>(header_->consumed).store(mine_, std::memory_order_release);
}

}  // namespace duofi::local
