#include "common/gin/rma_proxy.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace duofi::gin {
namespace {

/// As in the GIN proxy: a thread that owes nothing leaves the core.
constexpr int kPassesBeforeRest = 4000;
constexpr auto kRest = std::chrono::microseconds(50);

Status status_of(ncclResult_t result, const char* call) {
    if (result == ncclSuccess) return {};
    return failed({result, false, call});
}

}  // namespace

template <typename Ready>
GinStatus RmaProxy::wait(int lane_index, Ready&& ready) {
    if (ready()) return GinStatus::done;
    const Deadline deadline(options_.limit);
    while (!ready()) {
        if (lane(lane_index).failed()) return GinStatus::failed;
        if (deadline.passed()) return GinStatus::timed_out;
        ::sched_yield();
    }
    return GinStatus::done;
}

Result<std::unique_ptr<RmaProxy>> RmaProxy::open(const loader::RmaTable& table, void* instance,
                                                 const Exchange& exchange,
                                                 const RmaProxyOptions& options) {
    if (!table || options.contexts < 1 || exchange.size < 1)
        return fail(Errc::invalid_argument, "RmaProxy::open");
    std::unique_ptr<RmaProxy> proxy(new RmaProxy(table, options));
    ConnectRequest request;
    request.instance = instance;
    request.connect_instance = options.connect_instance.value_or(instance);
    request.device = options.device;
    request.properties_first = false;
    DUOFI_ASSIGN(proxy->connection_, connect(proxy->client_, exchange,
                                             Members(exchange.rank, exchange.size, 1), request));
    for (int i = 0; i < options.contexts; ++i) {
        DUOFI_ASSIGN(auto lane, RmaLane::open(proxy->client_, proxy->connection_,
                                              options.queue_size, options.limit));
        proxy->lanes_.push_back(std::move(lane));
    }
    return proxy;
}

RmaProxy::~RmaProxy() {
    static_cast<void>(close());
}

Result<Window> RmaProxy::register_window(std::span<std::byte> memory, std::uint64_t flags) {
    auto made = client_.register_memory(connection_.group, memory, flags);
    if (!made) return gin::failed(made.error());
    Window window;
    window.handles[0] = made->get();
    window.data = memory.data();
    window.bytes = memory.size();
    window.number = ++windows_made_;
    windows_.push_back({window.number, std::move(*made)});
    return window;
}

Status RmaProxy::deregister_window(const Window& window) {
    const auto found = std::ranges::find(windows_, window.number, &OwnedWindow::number);
    if (found == windows_.end()) return fail(Errc::invalid_argument, "deregister_window");
    const Status closed = status_of(found->window.close(), "deregMrSym");
    windows_.erase(found);
    return closed;
}

Result<std::uint64_t> RmaProxy::put(int lane_index, const RmaItem& item) {
    Result<std::uint64_t> sequence = lane(lane_index).enqueue({item});
    if (!sequence && sequence.error().code == Errc::no_memory) {
        const GinStatus room = wait(lane_index, [&] {
            sequence = lane(lane_index).enqueue({item});
            return sequence || sequence.error().code != Errc::no_memory;
        });
        if (room == GinStatus::failed) return fail(Errc::remote, "RmaProxy::put");
        if (room != GinStatus::done) return fail(Errc::timed_out, "RmaProxy::put");
    }
    if (sequence) lane(lane_index).release(item.peer, *sequence);
    return sequence;
}

GinStatus RmaProxy::wait_done(int lane_index, int peer, std::uint64_t sequence) {
    return wait(lane_index, [&] { return lane(lane_index).done(peer) >= sequence; });
}

GinStatus RmaProxy::wait_arrivals(int lane_index, int peer, std::uint64_t least) {
    return wait(lane_index, [&] { return lane(lane_index).arrivals(peer) >= least; });
}

GinStatus RmaProxy::wait_graph(int lane_index, std::size_t graph, std::uint64_t launches) {
    return wait(lane_index, [&] { return lane(lane_index).launches_done(graph) >= launches; });
}

void RmaProxy::start() {
    if (thread_.joinable()) return;
    stop_.store(false, std::memory_order_relaxed);
    thread_ = std::thread([this] { run(); });
}

void RmaProxy::stop() {
    stop_.store(true, std::memory_order_release);
    if (thread_.joinable()) thread_.join();
}

void RmaProxy::run() {
    int idle = 0;
    while (!stop_.load(std::memory_order_acquire)) {
        const Pass pass = progress();
        if (pass == Pass::failed) return;
        idle = pass == Pass::busy ? 0 : idle + 1;
        if (idle < kPassesBeforeRest)
            ::sched_yield();
        else
            std::this_thread::sleep_for(kRest);
    }
}

/// The callers' thread stops with the first failure of any lane.
Pass RmaProxy::progress() {
    Pass all = Pass::idle;
    for (const auto& own : lanes_) {
        const Pass pass = own->progress();
        if (pass == Pass::busy) all = pass;
        if (pass != Pass::failed) continue;
        for (const auto& other : lanes_) other->abandon(own->failure());
        return pass;
    }
    return all;
}

bool RmaProxy::failed() const noexcept {
    return std::ranges::any_of(lanes_, [](const auto& own) { return own->failed(); });
}

Status RmaProxy::close() {
    stop();
    Status first;
    const auto keep_first = [&first](Status next) {
        if (first && !next) first = std::move(next);
    };
    for (const auto& own : lanes_) keep_first(status_of(own->close(), "destroyContext"));
    lanes_.clear();
    while (!windows_.empty()) {
        keep_first(status_of(windows_.back().window.close(), "deregMrSym"));
        windows_.pop_back();
    }
    keep_first(status_of(connection_.group.close(), "closeColl"));
    return first;
}

}  // namespace duofi::gin
