#include "p2p/transport/net_proxy.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/p2p_net.hpp"
#include "p2p/transport/comm.hpp"
#include "p2p/transport/net_edge.hpp"

namespace duofi::p2p {
namespace {

constexpr Nanoseconds kDrain = 1 * kSecond;
// Without operations: this long awake, since the next one is often not far.
constexpr Nanoseconds kLinger = 200 * kMicrosecond;
// With operations of which none moves: looks at every turn, then every 50 us.
constexpr Nanoseconds kPatience = 2 * kMillisecond;
constexpr auto kNap = std::chrono::microseconds(50);
constexpr Nanoseconds kSleep = 3600 * kSecond;

struct Counters {
    std::atomic<std::uint64_t> send{0}, recv{0}, started{0}, running{0};
};
Counters& counters() {
    static Counters instance;
    return instance;
}

}  // namespace

NetCounts net_counts() noexcept {
    const Counters& now = counters();
    return {now.send, now.recv, now.started, now.running};
}

NetProxy::~NetProxy() {
    if (!thread_.started()) return;
    thread_.stop();
    --counters().running;
}

Status NetProxy::post(NetEdge& edge, const ncclTransportComm* half, const NetWork& work) {
    if (!thread_.started()) {
        DUOFI_TRY(thread_.start("duofi-p2p-net", [this] { run(); }));
        ++counters().started;
        ++counters().running;
    }
    {
        const std::scoped_lock lock(queue_mutex_);
        Args args;
        if (spare_.empty()) {
            args = std::make_unique<ncclProxyArgs>();
        } else {
            args = std::move(spare_.back());
            spare_.pop_back();
            *args = {};
        }
        args->edge = &edge;
        args->half = half;
        args->work = work;
        posted_.push_back(std::move(args));
    }
    ++(edge.sends() ? counters().send : counters().recv);
    if (asleep_.load()) thread_.wake();
    return {};
}

bool NetProxy::has(const NetEdge& edge) {
    const auto of_edge = [&edge](const Args& args) { return args->edge == &edge; };
    const std::scoped_lock lock(queue_mutex_);
    return std::ranges::any_of(posted_, of_edge) || std::ranges::any_of(active_, of_edge);
}

bool NetProxy::remove(NetEdge& edge) {
    const Deadline deadline(kDrain);
    while (true) {
        {
            ++removing_;
            const std::scoped_lock pass(pass_mutex_);
            --removing_;
            const bool there = has(edge);
            if (!there || comm_.aborted() || deadline.passed()) {
                forget(edge);
                return !there;
            }
        }
        ::sched_yield();
    }
}

/// Nobody makes a pass.
void NetProxy::forget(const NetEdge& edge) {
    const auto of_edge = [&edge](const Args& args) { return args->edge == &edge; };
    const std::scoped_lock lock(queue_mutex_);
    std::erase_if(posted_, of_edge);
    std::erase_if(active_, of_edge);
}

void NetProxy::take_posted() {
    const std::scoped_lock lock(queue_mutex_);
    for (Args& args : posted_) active_.push_back(std::move(args));
    posted_.clear();
}

void NetProxy::run() {
    while (!thread_.stopping()) {
        while (removing_.load() != 0 && !thread_.stopping()) ::sched_yield();
        bool moved = false;
        {
            const std::scoped_lock lock(pass_mutex_);
            take_posted();
            if (comm_.aborted()) {
                const std::scoped_lock queue(queue_mutex_);
                active_.clear();
            }
            moved = pass();
        }
        rest(moved);
    }
}

void NetProxy::rest(bool moved) {
    if (moved) {
        idle_since_ = 0;
        return;
    }
    const Nanoseconds now = now_ns();
    if (idle_since_ == 0) idle_since_ = now;
    // Only this thread changes the list, but for removals, which make it shorter.
    const bool empty = [this] {
        const std::scoped_lock lock(queue_mutex_);
        return active_.empty() && posted_.empty();
    }();
    if (!empty || now - idle_since_ < kLinger) {
        if (now - idle_since_ > kPatience)
            std::this_thread::sleep_for(kNap);
        else
            ::sched_yield();
        return;
    }
    asleep_ = true;
    thread_.silence();
    const bool still_empty = [this] {
        const std::scoped_lock lock(queue_mutex_);
        return posted_.empty();
    }();
    if (still_empty && !thread_.stopping()) thread_.pause(kSleep);
    asleep_ = false;
    idle_since_ = 0;
}

/// One call for each edge: the first operation of an edge is the one whose turn it is.
bool NetProxy::pass() {
    bool moved = false;
    for (std::size_t i = 0; i < active_.size(); ++i) {
        ncclProxyArgs& args = *active_[i];
        if (!args.started) {
            const auto earlier = std::ranges::find_if(
                active_, [&args](const Args& other) { return other->edge == args.edge; });
            if (earlier->get() != &args) continue;
        }
        if (!advance(args)) return false;
        moved = moved || args.moved;
    }
    const std::scoped_lock lock(queue_mutex_);
    for (Args& args : active_)
        if (args->finished) spare_.push_back(std::move(args));
    std::erase(active_, nullptr);
    return moved;
}

/// False: the plugin failed, and all operations are gone.
bool NetProxy::advance(ncclProxyArgs& args) {
    ncclResult_t result = ncclSuccess;
    args.failed_call = "allocRequest";
    if (!args.started) result = args.half->allocRequest(&args);
    if (result == ncclSuccess) result = args.half->proxy(&args);
    if (result == ncclSuccess && args.finished) result = args.half->freeRequest(&args);
    if (result == ncclSuccess) return true;
    fail_all(args, result);
    return false;
}

void NetProxy::fail_all(const ncclProxyArgs& args, ncclResult_t result) {
    const NetEdge& edge = *args.edge;
    if (!comm_.aborted())
        log::warn(NCCL_NET | NCCL_P2P, messages::kNetCallFailed, comm_.rank, args.failed_call,
                  edge.peer, edge.channel, static_cast<int>(result));
    if (result == ncclRemoteError) {
        std::int32_t nobody = -1;
        std::atomic_ref(comm_.dead_rank).compare_exchange_strong(nobody, edge.peer);
    }
    comm_.abort();
    const std::scoped_lock lock(queue_mutex_);
    active_.clear();
}

}  // namespace duofi::p2p
