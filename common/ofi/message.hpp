// Messages between endpoints. A packet (one send, one posted buffer) carries one or more of them, each
// padded to 8 bytes. Little-endian on the wire, which is also the order of every CPU we run on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace duofi::ofi {

static_assert(std::endian::native == std::endian::little, "wire structs are little-endian");

enum class MessageKind : std::uint16_t {
    probe = 1,        ///< are you there? answered by the endpoint itself; payload EndpointName of the asker
    probe_reply = 2,  ///< payload EndpointName of the answerer
    goodbye = 6,      ///< this endpoint closes and has sent all it had; payload like a probe's
    goodbye_reply = 7,///< everything up to the goodbye has arrived
    hello = 3,        ///< connect request to a listen port; payload handshake.hpp
    welcome = 4,      ///< its answer
    refuse = 5,       ///< its refusal; word = RefuseReason
    net_eager = 16,   ///< payload of a send; word = tag, value = index in the tag's order
    net_announce = 17,///< receives that are ready for large sends; payload Announcement[]
    net_want = 18,    ///< sender asks for an announcement; word = tag, value = index
    net_credit = 19,  ///< value = eager messages consumed so far
    net_close = 20,   ///< the other end of the connection is closed; value = eager messages it sent, word = writes
    net_key_ask = 21, ///< may I use this key? value = key; word & 2: could I still?
    net_key_answer = 22,  ///< value = key; word & 1: known, payload RemoteRegion; word & 2: as asked
    net_closed = 23, ///< answer to a receiver: nothing more is written into its memory; word = writes so far
    rma_window = 32,  ///< a rank's part of a registration; word = window id, payload WindowPart
    rma_signal = 33,  ///< add to a word; word = window id, value = offset, payload SignalBody
    rma_mark = 34,    ///< everything before it has arrived when it does; value = operations so far
    rma_applied = 35, ///< answer to marks and signals; value = operations applied so far
    rma_close = 36,   ///< the rank has left the group
    rma_window_close = 37,   ///< the rank is about to deregister its part; word = window id
    rma_window_closed = 38,  ///< answer: nothing more comes for it from here; word = window id
};

struct MessageHeader {
    std::uint16_t kind = 0;
    std::uint16_t flags = 0;
    std::uint32_t length = 0;  ///< payload bytes, without padding
    std::uint32_t port = 0;    ///< receiver's port number; 0 = the endpoint
    std::uint32_t word = 0;
    std::uint64_t value = 0;
};
static_assert(sizeof(MessageHeader) == 24);

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
    return (bytes + 7) & ~std::size_t{7};
}

/// Bytes a message of `payload` bytes takes in a packet.
[[nodiscard]] constexpr std::size_t message_bytes(std::size_t payload) noexcept {
    return sizeof(MessageHeader) + padded(payload);
}

struct RxPacket;

/// A received message. `payload` points into `packet`, valid during the call unless retained.
struct Message {
    MessageHeader header;
    std::span<const std::byte> payload;
    RxPacket* packet = nullptr;
};

}  // namespace duofi::ofi
