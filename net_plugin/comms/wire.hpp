// What the tagged protocol puts on the wire beyond the header of a message (docs/net-protocol.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/ofi/handshake.hpp"

namespace duofi::net {

/// Where a buffer is reached over one rail.
struct WriteTarget {
    std::uint64_t address = 0;  ///< as the provider counts: in the process, or from the start of the region
    std::uint64_t key = 0;
};

/// A receive that waits for its large send. On the wire without the targets that it does not have.
struct Announcement {
    std::int32_t tag = 0;
    std::uint32_t index = 0;     ///< in the tag's order
    std::uint64_t size = 0;      ///< bytes posted; the sender cuts to it (P5)
    std::uint32_t sequence = 0;  ///< of the data tag, or of the word beside the writes
    std::uint32_t targets = 0;   ///< rails that it may be written over; 0: it is posted under its data tag
    std::array<WriteTarget, ofi::kMaxRails> target{};

    static constexpr std::size_t kHead = 24;
    [[nodiscard]] std::size_t bytes() const noexcept { return kHead + targets * sizeof(WriteTarget); }
};
static_assert(offsetof(Announcement, target) == Announcement::kHead);
static_assert(std::is_trivially_copyable_v<Announcement>);

/// Tag of a large transfer: 24 bits of the receiving comm's port, 24 bits of sequence; fits providers that
/// keep some tag bits for themselves.
[[nodiscard]] constexpr std::uint64_t data_tag(std::uint32_t port, std::uint32_t sequence) noexcept {
    return std::uint64_t{port & 0xffffffu} << 24 | (sequence & 0xffffffu);
}

/// Eager messages that a receiving comm keeps without a receive.
inline constexpr std::uint32_t kEagerCredits = 64;
/// Announcements in one message.
inline constexpr std::size_t kMostAnnouncedAtOnce = 32;
/// Requests a comm accepts before it says "not now": 32 x 8 sends, 32 receives of up to 8 (net contract 3.4),
/// and the 128 of Neuron.
inline constexpr std::size_t kMaxSendRequests = 1024;
inline constexpr std::size_t kMaxRecvRequests = 128;

}  // namespace duofi::net
