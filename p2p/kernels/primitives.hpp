// One rank's part in one ring operation on one channel: fused receive / reduce / copy / send of
// chunks, over the three protocols (p2p contract 4.2-4.5). One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/kernels/element.hpp"
#include "p2p/kernels/kernel.hpp"
#include "p2p/kernels/link.hpp"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

/// What happens to one chunk. Both neighbours name the same number of elements for the chunk that
/// they share. receive and source: reduced together; receive alone or source alone: passed on.
struct ChunkMove {
    const std::byte* source = nullptr;  ///< own operand
    std::byte* output = nullptr;        ///< own result
    std::size_t count = 0;              ///< elements; 0 still takes its steps
    bool receive = false;
    bool send = false;
    bool direct_receive = false;  ///< the neighbour may write `output` itself
    bool direct_send = false;     ///< we may write the neighbour's output ...
    std::size_t offset = 0;  ///< ... at this many bytes from its start; the same place as `output`
};

struct OperationShape {
    Protocol protocol = Protocol::simple;
    StepShape steps;
    DataType type = DataType::uint8;
    Reduction op = Reduction::sum;
    std::size_t message_bytes = 0;  ///< decides how results are written
};

class Primitives {
  public:
    /// `next` or `previous` may be NULL where the operation does not use them.
    Primitives(SendLink* next, RecvLink* previous, const OperationShape& shape,
               const KernelContext& context) noexcept;

    /// Rounds the steps. With `direct` the neighbours of one process lend each other their outputs:
    /// ours has `output_bytes` at `output`.
    [[nodiscard]] KernelResult begin(bool direct, std::byte* output, std::size_t output_bytes);
    [[nodiscard]] KernelResult run(const ChunkMove& move);
    /// Leaves the steps for the next operation.
    void end() noexcept;

  private:
    struct Slice;
    struct Lines {
        std::uint64_t* sent = nullptr;
        std::uint64_t* received = nullptr;
    };
    [[nodiscard]] KernelResult run_simple(const ChunkMove& move);
    [[nodiscard]] KernelResult await(const ChunkMove& move, std::size_t bytes);
    [[nodiscard]] KernelResult neighbour_output(const ChunkMove& move, std::size_t place,
                                                std::size_t bytes, std::byte*& target) const;
    void move_slice(const Slice& slice) const;
    [[nodiscard]] KernelResult run_lines(const ChunkMove& move);
    [[nodiscard]] KernelResult run_block(const ChunkMove& move, const Lines& lines,
                                         std::size_t done, std::size_t bytes);
    [[nodiscard]] KernelResult read_block(std::uint64_t* lines, void* block, std::size_t done,
                                          std::size_t bytes);
    void write_block(std::uint64_t* lines, const void* block, std::size_t done, std::size_t bytes);

    SendLink* next_;
    RecvLink* previous_;
    OperationShape shape_;
    const KernelContext& context_;
    Combine combine_;
    std::size_t element_;
    bool lent_ = false;       // the previous rank writes our output
    OfferedBuffer borrowed_;  // the next rank's output; address 0: slots only
};

}  // namespace duofi::p2p
