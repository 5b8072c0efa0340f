// Collectives and transfers of one rank: connect what is missing, choose protocol and channels, run
// the kernels. One thread at a time, as the communicator.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "common/util/error.hpp"
#include "p2p/channel_crew.hpp"
#include "p2p/kernels/collectives.hpp"
#include "p2p/kernels/kernel.hpp"
#include "p2p/kernels/link.hpp"
#include "p2p/kernels/one_step.hpp"
#include "p2p/kernels/transfer.hpp"
#include "p2p/transport/communicator.hpp"

namespace duofi::p2p {

/// A message of a transfer; `peer` -1: none.
struct Outgoing {
    const void* data = nullptr;
    std::size_t bytes = 0;
    int peer = -1;
};
struct Incoming {
    void* data = nullptr;
    std::size_t bytes = 0;
    int peer = -1;
};

/// Errors of all operations: those of connecting, Errc::no_memory (buffers), and after a kernel
/// failed Errc::remote (abort, lost rank), Errc::timed_out, Errc::invalid_usage (sizes differ),
/// Errc::internal (a counter left its bounds). After such a failure the communicator is aborted.
class Operations {
  public:
    /// Borrows. `allowed` are the protocols to choose from.
    Operations(Communicator& communicator, ProtocolSet allowed);

    [[nodiscard]] Status ring(const RingOperation& operation);
    /// `bytes` per pair of ranks.
    [[nodiscard]] Status all_to_all(const void* input, void* output, std::size_t bytes);
    /// Both at the same time. A message to oneself needs both to be of this rank.
    [[nodiscard]] Status transfer(const Outgoing& out, const Incoming& in);

    /// The short way of transfer() for a message of one step over a link that is ready, with
    /// `bytes` > 0 and known buffer. nullopt: not that case, nothing has happened. A result that is
    /// not ok goes to end().
    [[nodiscard]] std::optional<KernelResult> try_send(const void* data, std::size_t bytes,
                                                       int peer) noexcept {
        Links* const found = short_way(bytes, peer);
        const Protocol protocol = choose_protocol(bytes, allowed_);
        if (found == nullptr || (found->send_short & bit(protocol)) == 0 ||
            bytes > step_bytes(protocol))
            return std::nullopt;
        return send_one_step(*found->send, protocol, data, bytes, contexts_.front());
    }
    [[nodiscard]] std::optional<KernelResult> try_receive(void* data, std::size_t bytes,
                                                          int peer) noexcept {
        Links* const found = short_way(bytes, peer);
        const Protocol protocol = choose_protocol(bytes, allowed_);
        if (found == nullptr || (found->recv_short & bit(protocol)) == 0 ||
            bytes > step_bytes(protocol))
            return std::nullopt;
        return receive_one_step(*found->recv, protocol, data, bytes, contexts_.front());
    }
    /// What a call that ran kernels answers.
    [[nodiscard]] Status posted(const Status& enqueued);
    [[nodiscard]] Status end(KernelResult result, const char* place);

    /// Protocol and channels of every operation from now on, for measurements; unset = by size.
    void force(Protocol protocol) noexcept { allowed_ = bit(protocol); }

    [[nodiscard]] const std::vector<KernelStatistics>& statistics() const noexcept {
        return statistics_;
    }

  private:
    struct Links {
        std::unique_ptr<SendLink> send;
        std::unique_ptr<RecvLink> recv;
        ProtocolSet send_ready = 0;  ///< protocols whose buffers have pages
        ProtocolSet recv_ready = 0;
        ProtocolSet send_short = 0;  ///< of those, the ones whose messages may be one step
        ProtocolSet recv_short = 0;
    };
    /// What one direction of an operation needs: edges to these peers, on the first `channels`.
    struct Need {
        std::span<const int> peers;
        Protocol protocol = Protocol::simple;
        int channels = 0;
    };
    struct TransferPlan {
        Outgoing out;
        Incoming in;
        Need send, recv;
    };

    [[nodiscard]] Links& links(int channel, int peer);
    [[nodiscard]] Links* short_way(std::size_t bytes, int peer) noexcept {
        if (bytes - 1 >= kLargestShort || static_cast<std::size_t>(peer) >= links_.front().size() ||
            !communicator_.usable()) [[unlikely]]
            return nullptr;
        return &links_.front()[static_cast<std::size_t>(peer)];
    }
    [[nodiscard]] std::size_t step_bytes(Protocol protocol) const noexcept {
        return step_bytes_[static_cast<std::size_t>(protocol)];
    }
    /// Connectors, pages and links. A few looks when everything is there.
    [[nodiscard]] Status ready(const Need& recv, const Need& send);
    [[nodiscard]] bool all_ready(const Need& recv, const Need& send);
    [[nodiscard]] Status prepare(const Need& need, Direction direction);
    void share_cpus() noexcept;
    [[nodiscard]] Status prepare_edge(int channel, int peer, Protocol protocol,
                                      Direction direction);
    [[nodiscard]] KernelResult run_part(const TransferPlan& plan, int channel);
    template <typename Body>
    [[nodiscard]] KernelResult run_channels(int channels, const Body& body) {
        return channels == 1 ? body(0) : crew_.run(channels, body);
    }
    [[nodiscard]] int channels_for(std::size_t bytes) const noexcept;
    [[nodiscard]] const KernelContext& context(int channel) const noexcept {
        return contexts_[static_cast<std::size_t>(channel)];
    }
    [[nodiscard]] Status result_of(KernelResult result, const char* place) {
        if (result == KernelResult::ok) [[likely]]
            return {};
        return end(result, place);
    }

    static constexpr std::size_t kLargestShort = 4096;

    Communicator& communicator_;
    ProtocolSet allowed_;
    std::array<std::size_t, NCCL_NUM_PROTOCOLS> step_bytes_{};
    std::vector<std::vector<Links>> links_;      ///< by channel, by peer
    std::vector<std::vector<SendLink*>> sends_;  ///< the same, as an all-to-all takes them
    std::vector<std::vector<RecvLink*>> receives_;
    std::vector<int> others_;  ///< all ranks but this one
    std::vector<KernelStatistics> statistics_;
    std::vector<KernelContext> contexts_;  ///< by channel
    ChannelCrew crew_;
};

}  // namespace duofi::p2p
