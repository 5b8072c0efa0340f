// Collectives of one channel: what each rank's thread of that channel runs (p2p contract 4.1, 4.2).
// All ranks run the same operation on the same channels with the same sizes. One thread per
// channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "p2p/kernels/element.hpp"
#include "p2p/kernels/kernel.hpp"
#include "p2p/kernels/link.hpp"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

enum class RingCollective : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast };

/// Counts are elements per rank: of the whole vector (all-reduce, broadcast), of one rank's share
/// (all-gather: of `input`; reduce-scatter: of `output`).
struct RingOperation {
    RingCollective kind = RingCollective::all_reduce;
    DataType type = DataType::float32;
    Reduction op = Reduction::sum;
    const void* input = nullptr;
    void* output = nullptr;  ///< may be `input` (all-gather, reduce-scatter: own share in place)
    std::size_t count = 0;
    int root = 0;  ///< of a broadcast; `input` is read there only, and may be NULL elsewhere
    Protocol protocol = Protocol::simple;
};

/// Bytes of the largest message that one edge carries, for choose_protocol.
[[nodiscard]] std::size_t edge_bytes(const RingOperation& operation, std::size_t ranks) noexcept;

/// A rank's place in a ring of at least two.
struct RingPlace {
    SendLink* next = nullptr;
    RecvLink* previous = nullptr;
    std::span<const int> order;  ///< ranks from this one on, in the direction of sending
    int channel = 0;
    int channels = 1;
};

/// Runs this rank's part. On failure the abort word is raised and the links are unusable.
[[nodiscard]] KernelResult run_ring(const RingOperation& operation, const RingPlace& place,
                                    const KernelContext& context);

/// What a ring of one does: copies.
void run_alone(const RingOperation& operation) noexcept;

/// One rank of an all-to-all of `bytes` per pair.
struct AllToAllPlace {
    std::span<SendLink* const> sends;     ///< by rank; [rank] is not used
    std::span<RecvLink* const> receives;  ///< by rank
    int rank = 0;
    int channel = 0;
    int channels = 1;
};

/// `input` and `output` hold `bytes` per rank and do not overlap. The own share is copied by
/// channel 0.
[[nodiscard]] KernelResult run_all_to_all(const void* input, void* output, std::size_t bytes,
                                          Protocol protocol, const AllToAllPlace& place,
                                          const KernelContext& context);

/// The part of a message that channel `channel` carries: whole units of 128 bytes, the last one may
/// be shorter.
struct Part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};
[[nodiscard]] Part part_of(std::size_t bytes, int channel, int channels) noexcept;

}  // namespace duofi::p2p
