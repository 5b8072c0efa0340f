// How many steps an operation takes on one edge: what a proxy must know beforehand (p2p contract
// 5.3). The kernels take exactly as many, from the same inputs (C-40). Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/kernels/collectives.hpp"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

/// The part of one edge in one operation.
struct NetWork {
    Protocol protocol = Protocol::simple;
    std::uint64_t steps = 0;        ///< 0: the edge is not used
    std::uint32_t slice_steps = 1;  ///< of one message
    std::uint32_t chunk_steps = 1;  ///< the first step is a multiple of this
};

/// Both directions of a ring, on one channel of `channels`.
struct RingWork {
    NetWork to_next, from_previous;
};
/// `protocol` of the operation is the one that is used. `order`: ranks from this one on.
[[nodiscard]] RingWork ring_work(const RingOperation& operation, std::span<const int> order,
                                 int channels, const BufferSizes& sizes) noexcept;

/// A message, or the part of one that a channel carries.
[[nodiscard]] NetWork transfer_work(std::size_t bytes, Protocol protocol,
                                    const BufferSizes& sizes) noexcept;

}  // namespace duofi::p2p
