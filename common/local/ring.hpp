// A one-way queue of messages between one writer and one reader, in memory that two processes map. Each end polls a
// word that the other writes, keeps a copy of it, and looks again only when the copy does not suffice. What the peer
// writes is input: a word or length that cannot be breaks the ring, and nothing outside its memory is ever touched.
// One thread per end. No system calls, no allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/util/error.hpp"

namespace duofi::local {

/// In front of the data. Both words are absolute positions in bytes that only grow.
struct RingHeader {
    alignas(128) std::uint64_t produced;
    alignas(128) std::uint64_t consumed;
};
static_assert(sizeof(RingHeader) == 256);

/// Bytes of memory for a ring that holds `capacity` bytes of messages and their heads.
[[nodiscard]] constexpr std::size_t ring_memory(std::size_t capacity) noexcept {
    return sizeof(RingHeader) + capacity;
}

/// What both ends have in common.
class RingEnd {
  public:
    static constexpr std::size_t kHead = 8;  ///< in front of each message

    /// The largest message. A longer one could never be sure of fitting.
    [[nodiscard]] std::size_t largest() const noexcept { return capacity_ / 2 - kHead; }
    /// The other side wrote what cannot be. Final.
    [[nodiscard]] bool broken() const noexcept { return broken_; }

  protected:
    RingEnd(RingHeader* header, std::size_t capacity) noexcept;
    [[nodiscard]] std::byte* at(std::uint64_t position) const noexcept { return data_ + (position & mask_); }

    RingHeader* header_;
    std::byte* data_;
    std::size_t capacity_;
    std::uint64_t mask_;
    std::uint64_t mine_ = 0;    ///< published by us
    std::uint64_t theirs_ = 0;  ///< last seen of the peer
    bool broken_ = false;
};

class RingWriter : public RingEnd {
  public:
    /// `memory`: 128-byte aligned, zero-filled or left by an earlier life of both ends, size ring_memory(n) with n a
    /// power of two from 256 to 2^32. Errors: invalid_argument.
    [[nodiscard]] static Result<RingWriter> attach(std::span<std::byte> memory);

    /// Room for one message, to be filled before publish(); empty when there is none now (also when broken).
    /// `bytes` 1 to largest(). At most one message is under way.
    [[nodiscard]] std::span<std::byte> reserve(std::size_t bytes) noexcept;
    /// Makes the reserved message visible to the reader.
    void publish() noexcept;
    /// Copies one message; false when there is no room now.
    [[nodiscard]] bool try_write(std::span<const std::byte> message) noexcept;

  private:
    using RingEnd::RingEnd;
    [[nodiscard]] bool has_room(std::uint64_t up_to) noexcept;
    std::uint64_t next_ = 0;  ///< position behind the message under way, `mine_` without one
};

class RingReader : public RingEnd {
  public:
    /// As RingWriter::attach.
    [[nodiscard]] static Result<RingReader> attach(std::span<std::byte> memory);

    /// The oldest message, inside the ring; empty when there is none now. Its content may still be changed by a bad
    /// peer: copy what is checked. Stays the same until release().
    [[nodiscard]] std::span<const std::byte> peek() noexcept;
    /// Gives the room of that message back.
    void release() noexcept;

  private:
    using RingEnd::RingEnd;
    [[nodiscard]] bool seen(std::uint64_t up_to) noexcept;
    std::uint64_t next_ = 0;
};

}  // namespace duofi::local
