// A group of ranks with what they need to connect: the runtime, the records of all ranks, channels,
// the watch over the other processes. One thread at a time, except abort() and the queries of the
// health.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/local/process_watch.hpp"
#include "common/util/error.hpp"
#include "common/util/fork_mark.hpp"
#include "common/util/settings.hpp"
#include "p2p/runtime/relay_service.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/comm.hpp"
#include "p2p/transport/peer_info.hpp"

namespace duofi::p2p {

/// Zero and empty members mean: as the settings say, or the default.
struct CommunicatorOptions {
    Settings settings;
    int device = 0;
    int channels = 0;
    std::array<std::size_t, NCCL_NUM_PROTOCOLS> buffer_bytes{};
    Nanoseconds timeout = 0;                ///< of one wait of set-up and tear-down
    ProtocolSet protocols = kAllProtocols;  ///< that kernels may use; must be equal on all ranks

    // Seams.
    const RuntimeTable* runtime = nullptr;
    PathQuery path;
    AccessQuery access;
    const ncclTransport* const* transports = ncclTransports;
    std::uint64_t pid_salt = 0;  ///< makes this rank look like a process of its own (V-25)
    bool separate_mirror =
        false;  ///< a second set of connectors even where copies do nothing (V-9)
};

class Communicator {
  public:
    /// Every rank calls it; nothing is connected yet. `bootstrap` must outlive the result. Errors:
    /// those of the runtime and of the exchange, Errc::invalid_argument (sizes, channels),
    /// Errc::invalid_usage (ranks differ).
    [[nodiscard]] static Result<std::unique_ptr<Communicator>> create(
        Bootstrap& bootstrap, const CommunicatorOptions& options);
    /// Frees without waiting for anybody.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// Waits until all ranks have come this far, unless aborted, and frees all connectors. Kernels
    /// must have ended. Ranks that still wait for this one are told when it did not wait for them.
    [[nodiscard]] Status tear_down();

    /// Connects, on all channels, with the ranks that the lists name; they must do the same. What
    /// is connected already costs nothing.
    [[nodiscard]] Status connect(std::span<const int> recv, std::span<const int> send);
    /// To and from the neighbours of the ring; to and from everybody.
    [[nodiscard]] Status connect_ring();
    [[nodiscard]] Status connect_all();

    /// Any thread: ends all waits of this rank with an error.
    void abort() noexcept { comm_.abort(); }
    /// Errc::invalid_usage in a child of the process that made it (T-12), Errc::remote after an
    /// abort, a death or an alarm, with one line about the rank that died or failed.
    [[nodiscard]] Status check_usable(const char* place);
    /// The same without the reason and without a line.
    [[nodiscard]] bool usable() const noexcept {
        return !fork_mark_.in_child() && !comm_.aborted();
    }
    /// A kernel of `rank` has failed, here or where an alarm came from: the ranks that share an
    /// edge with this one end their waits too, and tell theirs.
    void raise_alarm(int rank) noexcept;
    /// The rank that a peer has raised an alarm about, -1: none.
    [[nodiscard]] int alarm() const noexcept;
    /// For KernelContext. Changes only while connecting.
    [[nodiscard]] const std::vector<std::uint32_t*>& alarms() const noexcept { return alarms_; }

    [[nodiscard]] bool in_forked_child() const noexcept { return fork_mark_.in_child(); }
    [[nodiscard]] ncclComm& comm() noexcept { return comm_; }
    [[nodiscard]] const ncclComm& comm() const noexcept { return comm_; }
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    /// How data get to that rank: "P2P/IPC" and so on, "" before connecting.
    [[nodiscard]] const char* edge_text(int peer) const noexcept;

  private:
    Communicator(Bootstrap& bootstrap, const CommunicatorOptions& options);
    [[nodiscard]] Status prepare(const CommunicatorOptions& options);
    [[nodiscard]] Status choose_sizes(const CommunicatorOptions& options);
    [[nodiscard]] Status fill_topology(const CommunicatorOptions& options);
    [[nodiscard]] Status describe(const CommunicatorOptions& options, RankRecord& mine);
    [[nodiscard]] Status gather(const RankRecord& mine);
    [[nodiscard]] Status make_channels(const CommunicatorOptions& options);
    void watch_others();
    [[nodiscard]] Result<local::ProcessWatch::Id> watch_one(local::ProcessWatch& watch, int peer);
    void tell_others();
    void collect_alarms();

    Settings settings_;
    ForkMark fork_mark_;
    runtime::Use runtime_;
    int device_ = 0;
    ncclComm comm_;
    std::vector<std::vector<ncclPeer>> peers_;
    std::vector<std::vector<int>> rings_;
    std::vector<void*> mirrors_;
    std::unique_ptr<RelayService> relay_;
    std::vector<local::ProcessWatch::Id> watches_;
    std::vector<std::uint32_t*> alarms_;        ///< that peers raise here
    std::vector<std::uint32_t*> peers_alarms_;  ///< that this rank raises at its peers
    bool death_reported_ = false;
};

}  // namespace duofi::p2p
