// Collectives and transfers of one rank: connect what is missing, choose protocol and channels, run
// the kernels. One thread at a time, as the communicator.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/util/error.hpp"
#include "p2p/channel_crew.hpp"
#include "p2p/kernels/collectives.hpp"
#include "p2p/kernels/kernel.hpp"
#include "p2p/kernels/link.hpp"
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
    /// Connectors, pages and links. A few looks when everything is there.
    [[nodiscard]] Status ready(const Need& recv, const Need& send);
    [[nodiscard]] bool all_ready(const Need& recv, const Need& send);
    [[nodiscard]] Status prepare(const Need& need, Direction direction);
    [[nodiscard]] Status prepare_edge(int channel, int peer, Protocol protocol,
                                      Direction direction);
    [[nodiscard]] KernelResult run_part(const TransferPlan& plan, int channel);
    template <typename Body>
    [[nodiscard]] KernelResult run_channels(int channels, const Body& body) {
        return channels == 1 ? body(0) : crew_.run(channels, body);
    }
    [[nodiscard]] int channels_for(std::size_t bytes) const noexcept;
    [[nodiscard]] KernelContext context(int channel) noexcept;
    [[nodiscard]] Status result_of(KernelResult result, const char* place);

    Communicator& communicator_;
    ProtocolSet allowed_;
    SpinPolicy spin_;
    std::vector<std::vector<Links>> links_;      ///< by channel, by peer
    std::vector<std::vector<SendLink*>> sends_;  ///< the same, as an all-to-all takes them
    std::vector<std::vector<RecvLink*>> receives_;
    std::vector<int> others_;  ///< all ranks but this one
    std::vector<KernelStatistics> statistics_;
    ChannelCrew crew_;
};

}  // namespace duofi::p2p
