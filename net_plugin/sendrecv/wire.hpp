// What the tagged protocol puts on the wire beyond the header of a message (docs/net-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace duofi::net {

/// A receive that is posted at the provider and waits for its large send.
struct Announcement {
    std::int32_t tag = 0;
    std::uint32_t index = 0;     ///< in the tag's order
    std::uint64_t size = 0;      ///< bytes posted; the sender cuts to it (P5)
    std::uint32_t sequence = 0;  ///< of the data tag
    std::uint32_t reserved = 0;
};
static_assert(sizeof(Announcement) == 24);

/// Tag of a large transfer: 24 bits of the receiving comm's port, 24 bits of sequence; fits providers that
/// keep some tag bits for themselves.
[[nodiscard]] constexpr std::uint64_t data_tag(std::uint32_t port, std::uint32_t sequence) noexcept {
    return std::uint64_t{port & 0xffffffu} << 24 | (sequence & 0xffffffu);
}

/// Eager messages that a receiving comm keeps without a receive.
inline constexpr std::uint32_t kEagerCredits = 64;
/// Requests a comm accepts before it says "not now": 32 x 8 sends, 32 receives of up to 8 (net contract 3.4),
/// and the 128 of Neuron.
inline constexpr std::size_t kMaxSendRequests = 1024;
inline constexpr std::size_t kMaxRecvRequests = 128;

}  // namespace duofi::net
