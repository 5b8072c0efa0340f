// Sends and receives of whole messages that move on side by side on one thread: what send, recv and
// all-to-all consist of. Each moves one chunk per look, so that none waits while another could go
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "p2p/kernels/kernel.hpp"
#include "p2p/kernels/link.hpp"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

/// One message over one link. Both ends name the same bytes and protocol. Before its first advance
/// the operation begins: a receiver of the same process lends its buffer then.
class Transfer {
  public:
    [[nodiscard]] bool done() const noexcept { return chunk_index_ == chunks_; }

  protected:
    Transfer(std::size_t bytes, const Link& link, Protocol protocol) noexcept;
    [[nodiscard]] std::size_t place() const noexcept { return chunk_index_ * chunk_; }
    [[nodiscard]] std::size_t next_bytes() const noexcept {
        const std::size_t left = bytes_ - place();
        return left < chunk_ ? left : chunk_;
    }

    bool direct_;  ///< the receiver has lent its buffer
    std::size_t bytes_, chunk_, chunks_;
    std::size_t chunk_index_ = 0;
    Protocol protocol_;
};

/// What one look brought.
enum class Advance : std::uint8_t { waiting, moved, failed };

class SendTransfer : public Transfer {
  public:
    /// Borrows both. `data` may be NULL when there are no bytes.
    SendTransfer(SendLink& link, const void* data, std::size_t bytes, Protocol protocol) noexcept;
    /// failed: the reason is in `result`.
    [[nodiscard]] Advance advance(const KernelContext& context, KernelResult& result);

  private:
    [[nodiscard]] Advance write_direct(const KernelContext& context, KernelResult& result);
    void write_lines(std::size_t bytes);

    SendLink* link_;
    const std::byte* data_;
    OfferedBuffer borrowed_;
};

class RecvTransfer : public Transfer {
  public:
    RecvTransfer(RecvLink& link, void* data, std::size_t bytes, Protocol protocol);
    [[nodiscard]] Advance advance(const KernelContext& context, KernelResult& result);

  private:
    [[nodiscard]] KernelResult read_lines(std::size_t bytes, Waiter& waiter);

    RecvLink* link_;
    std::byte* data_;
};

/// Runs all of them to the end. On failure the abort word is raised and the links are unusable.
[[nodiscard]] KernelResult run_transfers(std::span<SendTransfer> sends,
                                         std::span<RecvTransfer> receives,
                                         const KernelContext& context);

}  // namespace duofi::p2p
