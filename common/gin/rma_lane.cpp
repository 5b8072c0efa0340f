#include "common/gin/rma_lane.hpp"

#include <span>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/gin.hpp"

namespace duofi::gin {
namespace {

std::uint64_t read(const std::vector<std::uint64_t>& words, int index) noexcept {
    auto& word = const_cast<std::uint64_t&>(words[static_cast<std::size_t>(index)]);
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace

Result<std::unique_ptr<RmaLane>> RmaLane::open(const loader::RmaClient& client,
                                               const Connection& connection,
                                               std::int64_t queue_size, Nanoseconds flush_limit) {
    std::unique_ptr<RmaLane> lane(new RmaLane(client, connection));
    lane->flush_limit_ = flush_limit;
    DUOFI_TRY(lane->set_up(queue_size));
    return lane;
}

Status RmaLane::set_up(std::int64_t queue_size) {
    auto context = client_.create_context(connection_.group);
    if (!context) return gin::failed(context.error());
    context_ = std::move(*context);
    depth_ = queue_depth(queue_size, connection_.properties.maxRecvs);
    const auto ranks = static_cast<std::size_t>(members().size());
    for (std::size_t i = 0; i < ranks; ++i) peers_.push_back(std::make_unique<Peer>());
    // The last word of the signals is the callers' spare.
    signals_.resize(ranks + 1);
    cpu_signals_.resize(ranks + 1);
    flush_words_.resize(ranks);
    const auto add = [&](std::vector<std::uint64_t>& words, std::uint64_t flags,
                         loader::RmaWindow& window) -> Status {
        auto made = client_.register_memory(connection_.group,
                                            std::as_writable_bytes(std::span(words)), flags);
        if (!made) return gin::failed(made.error());
        window = std::move(*made);
        return {};
    };
    DUOFI_TRY(add(signals_, NCCL_NET_MR_FLAG_FORCE_SO | NCCL_NET_MR_FLAG_SIGNAL_NEVER_RESET,
                  signal_window_));
    DUOFI_TRY(add(cpu_signals_, NCCL_NET_MR_FLAG_FORCE_SO, cpu_window_));
    return add(flush_words_, NCCL_NET_MR_FLAG_FORCE_SO, flush_window_);
}

RmaLane::~RmaLane() {
    static_cast<void>(close());
}

ncclResult_t RmaLane::close() {
    ncclResult_t first = ncclSuccess;
    const auto note = [&first](ncclResult_t result, const char* call) {
        if (result == ncclSuccess) return;
        log::warn(log::net, messages::kProxyCloseFailed, call, static_cast<int>(result));
        if (first == ncclSuccess) first = result;
    };
    note(context_.close(), "destroyContext");
    for (loader::RmaWindow* window : {&signal_window_, &cpu_window_, &flush_window_})
        note(window->close(), "deregMrSym");
    return first;
}

Result<std::uint64_t> RmaLane::enqueue(std::vector<RmaItem> items) {
    if (items.empty()) return fail(Errc::invalid_argument, "RmaLane::enqueue");
    for (const RmaItem& item : items)
        if (members().member_of(item.peer) < 0)
            return fail(Errc::invalid_argument, "RmaLane::enqueue");
    Peer& peer = *peers_[static_cast<std::size_t>(members().member_of(items.front().peer))];
    const std::lock_guard lock(peer.mutex);
    if (peer.pending.size() >= depth_) return fail(Errc::no_memory, "RmaLane::enqueue");
    Group group;
    group.sequence = ++peer.enqueued;
    group.items = std::move(items);
    peer.pending.push_back(std::move(group));
    return peer.enqueued;
}

void RmaLane::release(int peer, std::uint64_t sequence) noexcept {
    const int member = members().member_of(peer);
    if (member < 0) return;
    std::atomic<std::uint64_t>& ready = peers_[static_cast<std::size_t>(member)]->ready;
    std::uint64_t seen = ready.load(std::memory_order_relaxed);
    while (seen < sequence &&
           !ready.compare_exchange_weak(seen, sequence, std::memory_order_release)) {
    }
}

std::uint64_t RmaLane::done(int peer) const noexcept {
    const int member = members().member_of(peer);
    if (member < 0) return 0;
    return peers_[static_cast<std::size_t>(member)]->done.load(std::memory_order_acquire);
}

std::uint64_t RmaLane::arrivals(int peer) const noexcept {
    const int member = members().member_of(peer);
    return member < 0 ? 0 : read(signals_, member);
}

Result<std::size_t> RmaLane::capture(RmaGraph graph) {
    for (const RmaItem& item : graph.items)
        if (members().member_of(item.peer) < 0)
            return fail(Errc::invalid_argument, "RmaLane::capture");
    for (const RmaGraph::Arrival& arrival : graph.waits)
        if (members().member_of(arrival.peer) < 0)
            return fail(Errc::invalid_argument, "RmaLane::capture");
    auto made = std::make_unique<Graph>();
    made->targets.resize(graph.waits.size());
    made->plan = std::move(graph);
    const std::lock_guard lock(graphs_mutex_);
    graphs_.push_back(std::move(made));
    return graphs_.size() - 1;
}

Status RmaLane::launch(std::size_t graph) {
    const std::lock_guard lock(graphs_mutex_);
    if (graph >= graphs_.size()) return fail(Errc::invalid_argument, "RmaLane::launch");
    graphs_[graph]->wanted.fetch_add(1, std::memory_order_release);
    return {};
}

std::uint64_t RmaLane::launches_done(std::size_t graph) const {
    const std::lock_guard lock(graphs_mutex_);
    return graph < graphs_.size() ? graphs_[graph]->done.load(std::memory_order_acquire) : 0;
}

void RmaLane::abandon(const ProxyFailure& failure) noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
}

bool RmaLane::fail_with(ncclResult_t result, const char* call, int member) {
    failure_ = {result, call};
    failed_.store(true, std::memory_order_release);
    log::warn(log::net, messages::kRmaProxyStopped, call, static_cast<int>(result),
              members().rank_of(member));
    return false;
}

}  // namespace duofi::gin
