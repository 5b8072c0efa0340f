// The three protocols of an edge and how its buffers are divided (p2p contract 1.1, 4.2). Both ends
// compute every size here from the same inputs, since none travels (C-40).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "p2p/abi.h"
#include "p2p/kernels/ll.hpp"
#include "p2p/kernels/ll128.hpp"

namespace duofi::p2p {

enum class Protocol : std::uint8_t {
    ll = NCCL_PROTO_LL,
    ll128 = NCCL_PROTO_LL128,
    simple = NCCL_PROTO_SIMPLE,
};

[[nodiscard]] constexpr const char* to_string(Protocol protocol) noexcept {
    return protocol == Protocol::ll ? "LL" : protocol == Protocol::ll128 ? "LL128" : "SIMPLE";
}

/// Bytes of the three buffers of an edge, each a positive multiple of 1024, in order of Protocol.
struct BufferSizes {
    std::array<std::size_t, NCCL_NUM_PROTOCOLS> bytes{};

    [[nodiscard]] constexpr std::size_t slot(Protocol protocol) const noexcept {
        return bytes[static_cast<std::size_t>(protocol)] / NCCL_STEPS;
    }
    /// Payload that one slot carries.
    [[nodiscard]] constexpr std::size_t payload(Protocol protocol) const noexcept {
        const std::size_t raw = slot(protocol);
        if (protocol == Protocol::ll) return raw / kLlLineBytes * kLlLinePayload;
        if (protocol == Protocol::ll128) return raw / kLl128LineBytes * kLl128LinePayload;
        return raw;
    }
};

/// How an operation divides its chunks.
struct StepShape {
    std::uint32_t steps_per_slice = 1;
    std::uint32_t slices_per_chunk = 1;
    [[nodiscard]] constexpr std::uint64_t unit() const noexcept {
        return std::uint64_t{steps_per_slice} * slices_per_chunk;
    }
};
inline constexpr StepShape kReductionShape{2, 2};  ///< all-reduce, all-gather, reduce-scatter
inline constexpr StepShape kSingleStep{1, 1};      ///< broadcast, send/recv, all LL and LL128

/// Elements of a slice of SIMPLE when a chunk has `count`.
[[nodiscard]] constexpr std::size_t slice_elements(std::size_t count, std::size_t slot_elements,
                                                   StepShape shape) noexcept {
    const std::size_t unit = std::size_t{16} * shape.slices_per_chunk;
    const std::size_t even = (count + unit - 1) / unit * 16;
    return std::max(even, slot_elements * shape.steps_per_slice / 32);
}

/// Payload bytes of one step of a send or recv of `bytes`. SIMPLE: an eighth of the message, so
/// that the receiver copies while the sender does, but not less than a page nor more than a quarter
/// of a slot.
[[nodiscard]] constexpr std::size_t transfer_chunk(std::size_t bytes, const BufferSizes& sizes,
                                                   Protocol protocol) noexcept {
    constexpr std::size_t kPage = 4096;
    const std::size_t whole = sizes.payload(protocol);
    if (protocol != Protocol::simple) return whole;
    const std::size_t eighth = (bytes / 8 + kPage - 1) / kPage * kPage;
    return std::min(whole / 4, std::max(eighth, kPage));
}

/// The same where the sender writes into the receiver's own buffer: no slot bounds a step, and the
/// receiver has nothing to do meanwhile, so a step is only there for aborts to be seen.
inline constexpr std::size_t kDirectChunk = std::size_t{1} << 20;

/// Where the data of a step begin in their `room`, the slots that belong to the step. Chunks that
/// leave room move on through it from one use of the slots to the next: lines that the receiver's
/// cache still holds cost the sender four times as much to overwrite as others
/// (docs/performance.md). Small ones stay where they are warm. Both ends know all of the inputs.
[[nodiscard]] constexpr std::size_t place_in_room(std::uint64_t step, std::size_t bytes,
                                                  std::size_t room) noexcept {
    constexpr std::size_t kSmallest = 4096, kAlign = 128;
    if (bytes < kSmallest || 2 * bytes > room) return 0;
    const std::size_t size = (bytes + kAlign - 1) / kAlign * kAlign;
    return step / NCCL_STEPS % (room / size) * size;
}

/// Bits of the protocols that may be chosen.
using ProtocolSet = std::uint32_t;
[[nodiscard]] constexpr ProtocolSet bit(Protocol protocol) noexcept {
    return ProtocolSet{1} << static_cast<unsigned>(protocol);
}
inline constexpr ProtocolSet kAllProtocols = 7;

/// For `bytes` that one edge carries in one operation; limits as measured (docs/p2p-kernels.md).
/// Not in the set: the next one up, else down.
[[nodiscard]] constexpr Protocol choose_protocol(std::size_t bytes,
                                                 ProtocolSet allowed = kAllProtocols) noexcept {
    constexpr std::size_t kLargestLl = 64, kLargestLl128 = 2 * kLl128LinePayload;
    unsigned first = bytes <= kLargestLl ? 0 : bytes <= kLargestLl128 ? 1 : 2;
    for (unsigned p = first; p < NCCL_NUM_PROTOCOLS; ++p)
        if (allowed >> p & 1) return static_cast<Protocol>(p);
    for (unsigned p = first; p-- > 0;)
        if (allowed >> p & 1) return static_cast<Protocol>(p);
    return Protocol::simple;
}

}  // namespace duofi::p2p
