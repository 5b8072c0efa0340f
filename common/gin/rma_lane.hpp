// One rmaCtx of the emulated RMA proxy (rma contract 4.6): pending rings and in-progress FIFOs by
// peer, graphs, flush. Threads: enqueue and release from any; progress from one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/gin/connection.hpp"
#include "common/gin/proxy_context.hpp"
#include "common/gin/window.hpp"

namespace duofi::gin {

/// One put of the host-initiated interface, then a signal: the target's count of arrivals from this
/// rank grows by one.
struct RmaItem {
    int peer = 0;
    Window dst, src;  ///< may be empty when bytes is 0
    std::uint64_t dst_offset = 0, src_offset = 0;
    std::uint64_t bytes = 0;
    bool signals = true;
};

/// What a captured graph does each time: its items, then waiting for arrivals from peers.
struct RmaGraph {
    std::vector<RmaItem> items;
    struct Arrival {
        int peer = 0;
        std::uint64_t count = 1;  ///< more than at the last launch
    };
    std::vector<Arrival> waits;
    bool flush = true;  ///< after the arrivals, by a self-put
};

class RmaLane {
  public:
    /// createContext and the three registrations; collective.
    [[nodiscard]] static Result<std::unique_ptr<RmaLane>> open(const loader::RmaClient& client,
                                                               const Connection& connection,
                                                               std::int64_t queue_size,
                                                               Nanoseconds flush_limit);
    ~RmaLane();
    RmaLane(const RmaLane&) = delete;
    RmaLane& operator=(const RmaLane&) = delete;

    /// Items of one group; a single one is a group of its own. It waits in the ring of the first
    /// item's peer until that peer's release reaches it. Returns its sequence number there, from 1
    /// on. Errors: Errc::no_memory when the ring is full, Errc::invalid_argument for a bad peer.
    [[nodiscard]] Result<std::uint64_t> enqueue(std::vector<RmaItem> items);
    /// The stream has got to this operation of the peer.
    void release(int peer, std::uint64_t sequence) noexcept;
    [[nodiscard]] std::uint64_t done(int peer) const noexcept;

    /// A graph is captured once and launched many times; it runs to its end in passes.
    [[nodiscard]] Result<std::size_t> capture(RmaGraph graph);
    [[nodiscard]] Status launch(std::size_t graph);
    [[nodiscard]] std::uint64_t launches_done(std::size_t graph) const;

    Pass progress();
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Valid once failed() is true.
    [[nodiscard]] ProxyFailure failure() const noexcept { return failure_; }
    /// Marks it failed because the proxy thread has ended; same thread as progress.
    void abandon(const ProxyFailure& failure) noexcept;
    /// Arrivals from a rank so far.
    [[nodiscard]] std::uint64_t arrivals(int peer) const noexcept;
    ncclResult_t close();
    [[nodiscard]] const Members& members() const noexcept { return connection_.members; }
    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

  private:
    /// What is issued together. Items are issued in order as credit allows.
    struct Group {
        std::uint64_t sequence = 0;
        std::vector<RmaItem> items;
        std::size_t issued = 0;
        std::vector<std::pair<void*, int>> requests;  // with the member that they count for
    };
    struct Peer {
        std::mutex mutex;  // pending only
        std::deque<Group> pending;
        std::uint64_t enqueued = 0;
        std::atomic<std::uint64_t> ready{0}, done{0};
        std::deque<Group> running;
        std::uint32_t in_flight = 0;  // requests to this peer, of all rings
    };
    enum class GraphStage { rests, issues, waits };
    struct Graph {
        RmaGraph plan;
        std::vector<std::uint64_t> targets;  // by wait
        std::atomic<std::uint64_t> wanted{0}, done{0};
        GraphStage stage = GraphStage::rests;
        Group group;
    };
    enum class Step { waits, done, failed };

    RmaLane(const loader::RmaClient& client, const Connection& connection) noexcept
        : client_(client), connection_(connection) {}
    [[nodiscard]] Status set_up(std::int64_t queue_size);
    bool complete(Peer& peer);
    bool start_pending(Peer& peer);
    Step advance(Group& group, bool to_graph);
    bool issue(Group& group, bool to_graph);
    bool issue_item(Group& group, const RmaItem& item, bool to_graph);
    bool test(void* request, bool& done);
    bool run_graph(Graph& graph);
    bool flush();
    bool fail_with(ncclResult_t result, const char* call, int member);

    const loader::RmaClient& client_;
    const Connection& connection_;
    std::uint32_t depth_ = 0;
    Nanoseconds flush_limit_ = 0;
    std::vector<std::uint64_t> signals_, cpu_signals_, flush_words_;
    loader::RmaWindow signal_window_, cpu_window_, flush_window_;
    std::vector<std::unique_ptr<Peer>> peers_;
    mutable std::mutex graphs_mutex_;
    std::vector<std::unique_ptr<Graph>> graphs_;
    loader::RmaContext context_;
    std::atomic<bool> failed_{false};
    ProxyFailure failure_;
};

}  // namespace duofi::gin
