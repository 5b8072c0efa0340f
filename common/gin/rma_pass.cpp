// The pass of the RMA proxy's thread over one rmaCtx.
#include <sched.h>

#include <utility>

#include "common/gin/rma_lane.hpp"

namespace duofi::gin {

/// rmaProgress first, and unlike the GIN proxy this one looks at what it returns.
Pass RmaLane::progress() {
    if (failed_.load(std::memory_order_relaxed)) return Pass::failed;
    const ncclResult_t result = client_.table().progress(context_.get());
    if (result != ncclSuccess) {
        fail_with(result, "rmaProgress", members().own());
        return Pass::failed;
    }
    bool busy = false;
    for (const auto& peer : peers_) {
        if (!complete(*peer) || !start_pending(*peer)) return Pass::failed;
        busy = busy || !peer->running.empty();
    }
    std::vector<Graph*> graphs;
    {
        const std::lock_guard lock(graphs_mutex_);
        for (const auto& graph : graphs_) graphs.push_back(graph.get());
    }
    for (Graph* graph : graphs) {
        if (!run_graph(*graph)) return Pass::failed;
        busy = busy || graph->stage != GraphStage::rests;
    }
    return busy ? Pass::busy : Pass::idle;
}

/// Only the head of the FIFO is looked at.
bool RmaLane::complete(Peer& peer) {
    while (!peer.running.empty()) {
        const Step step = advance(peer.running.front(), false);
        if (step == Step::failed) return false;
        if (step == Step::waits) return true;
        peer.done.store(peer.running.front().sequence, std::memory_order_release);
        peer.running.pop_front();
    }
    return true;
}

bool RmaLane::start_pending(Peer& peer) {
    while (true) {
        Group group;
        {
            const std::lock_guard lock(peer.mutex);
            if (peer.pending.empty() || peer.running.size() >= depth_) return true;
            const Group& head = peer.pending.front();
            if (head.sequence > peer.ready.load(std::memory_order_acquire)) return true;
            // A single put waits for credit in the ring, a group issues what it may.
            const auto first =
                static_cast<std::size_t>(members().member_of(head.items.front().peer));
            if (peers_[first]->in_flight >= depth_) return true;
            group = std::move(peer.pending.front());
            peer.pending.pop_front();
        }
        if (!issue(group, false)) return false;
        peer.running.push_back(std::move(group));
    }
}

/// Tests all issued requests of the group and issues more.
RmaLane::Step RmaLane::advance(Group& group, bool to_graph) {
    for (auto entry = group.requests.begin(); entry != group.requests.end();) {
        bool done = false;
        if (!test(entry->first, done)) return Step::failed;
        if (done) {
            --peers_[static_cast<std::size_t>(entry->second)]->in_flight;
            entry = group.requests.erase(entry);
        } else {
            ++entry;
        }
    }
    if (!issue(group, to_graph)) return Step::failed;
    return group.requests.empty() && group.issued == group.items.size() ? Step::done : Step::waits;
}

bool RmaLane::issue(Group& group, bool to_graph) {
    for (; group.issued < group.items.size(); ++group.issued) {
        const RmaItem& item = group.items[group.issued];
        const auto member = static_cast<std::size_t>(members().member_of(item.peer));
        if (peers_[member]->in_flight >= depth_) return true;
        if (!issue_item(group, item, to_graph)) return false;
    }
    return true;
}

/// Graphs count in the words that the CPU polls, streams in those that kernels poll.
bool RmaLane::issue_item(Group& group, const RmaItem& item, bool to_graph) {
    const int member = members().member_of(item.peer);
    const loader::RmaPut put{0,
                             item.src_offset,
                             item.src.handles[0],
                             item.bytes,
                             item.dst_offset,
                             item.dst.handles[0],
                             static_cast<std::uint32_t>(member),
                             NCCL_RMA_OPT_FLAGS_DEFAULT};
    void* request = nullptr;
    ncclResult_t result = ncclSuccess;
    if (item.signals) {
        const loader::RmaSignal signal{8 * static_cast<std::uint64_t>(members().own()),
                                       (to_graph ? cpu_window_ : signal_window_).get(), 1,
                                       NCCL_NET_SIGNAL_OP_ADD, true};
        result = client_.table().iput_signal(context_.get(), put, signal, &request);
    } else {
        result = client_.table().iput(context_.get(), put, &request);
    }
    const char* call = item.signals ? "iputSignal" : "iput";
    if (result != ncclSuccess) return fail_with(result, call, member);
    if (request == nullptr) return fail_with(ncclInternalError, call, member);
    group.requests.emplace_back(request, member);
    ++peers_[static_cast<std::size_t>(member)]->in_flight;
    return true;
}

bool RmaLane::test(void* request, bool& done) {
    int answer = 0;
    const ncclResult_t result = client_.table().test(connection_.group.get(), request, &answer);
    done = answer != 0;
    return result == ncclSuccess || fail_with(result, "test", members().own());
}

bool RmaLane::run_graph(Graph& graph) {
    if (graph.stage == GraphStage::rests) {
        if (graph.wanted.load(std::memory_order_acquire) ==
            graph.done.load(std::memory_order_relaxed))
            return true;
        graph.group.items = graph.plan.items;
        graph.group.issued = 0;
        for (std::size_t i = 0; i < graph.targets.size(); ++i)
            graph.targets[i] += graph.plan.waits[i].count;
        graph.stage = GraphStage::issues;
    }
    if (graph.stage == GraphStage::issues) {
        const Step step = advance(graph.group, true);
        if (step != Step::done) return step == Step::waits;
        graph.stage = GraphStage::waits;
    }
    for (std::size_t i = 0; i < graph.targets.size(); ++i) {
        const int member = members().member_of(graph.plan.waits[i].peer);
        std::atomic_ref word(cpu_signals_[static_cast<std::size_t>(member)]);
        if (word.load(std::memory_order_acquire) < graph.targets[i]) return true;
    }
    if (graph.plan.flush && !graph.targets.empty() && !flush()) return false;
    graph.stage = GraphStage::rests;
    graph.done.fetch_add(1, std::memory_order_release);
    return true;
}

/// A put of 8 bytes onto themselves, spinning on test alone (P-3, E-3).
bool RmaLane::flush() {
    const int own = members().own();
    const std::uint64_t offset = 8 * static_cast<std::uint64_t>(own);
    const loader::RmaPut put{0,
                             offset,
                             flush_window_.get(),
                             8,
                             offset,
                             flush_window_.get(),
                             static_cast<std::uint32_t>(own),
                             NCCL_RMA_OPT_FLAGS_DEFAULT};
    void* request = nullptr;
    const ncclResult_t result = client_.table().iput(context_.get(), put, &request);
    if (result != ncclSuccess) return fail_with(result, "iput", own);
    if (request == nullptr) return fail_with(ncclInternalError, "iput", own);
    const Deadline deadline(flush_limit_);
    for (bool done = false; true;) {
        if (!test(request, done)) return false;
        if (done) return true;
        // The callers would spin for ever.
        if (deadline.passed()) return fail_with(ncclInternalError, "flush", own);
        ::sched_yield();
    }
}

}  // namespace duofi::gin
