#include "common/gin/gin_proxy.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace duofi::gin {
namespace {

constexpr int kMostThreads = 4;
/// Passes without work before a proxy thread that owes nothing leaves the core for a moment. The
/// callers never do; they do not share a core among several ranks either.
constexpr int kPassesBeforeRest = 4000;
constexpr auto kRest = std::chrono::microseconds(50);
constexpr int kYieldsForSetUp = 1000;

void keep_first(Status& first, Status next) {
    if (first && !next) first = std::move(next);
}

Status status_of(ncclResult_t result, const char* call) {
    if (result == ncclSuccess) return {};
    return failed({result, false, call});
}

}  // namespace

/// One connection and the contexts on it. `mutex` is held for a whole pass, so no context goes
/// while its own pass runs (rma contract 4.4).
struct GinProxy::Line {
    Connection connection;
    std::mutex mutex;
    std::atomic<int> waiting{0};  // set-up calls that want the mutex
    std::vector<ProxyContext*> contexts;
    ProxyFailure failure;  // the first; its thread has ended then

    void add(ProxyContext* context) {
        const Turn turn(*this);
        if (failure.result != ncclSuccess) context->abandon(failure);
        contexts.push_back(context);
    }
    void remove(ProxyContext* context) {
        const Turn turn(*this);
        std::erase(contexts, context);
    }
    void abandon(const ProxyFailure& why) {
        failure = why;
        for (ProxyContext* context : contexts) context->abandon(why);
    }

    /// A pass returns the mutex and takes it again at once: it has to see who waits.
    class Turn {
      public:
        explicit Turn(Line& line) : line_(line) {
            ++line_.waiting;
            line_.mutex.lock();
            --line_.waiting;
        }
        ~Turn() { line_.mutex.unlock(); }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        Line& line_;
    };
};

struct GinProxy::Worker {
    std::vector<Line*> lines;
    std::atomic<bool> stop{false};
    std::thread thread;
};

GinProxy::GinProxy(const loader::RmaTable& table, const Exchange& exchange,
                   const GinOptions& options)
    : client_(table), exchange_(exchange), options_(options) {}

Result<std::unique_ptr<GinProxy>> GinProxy::open(const loader::RmaTable& table, void* instance,
                                                 const Exchange& exchange,
                                                 const GinOptions& options) {
    const bool sound = options.connections >= 1 &&
                       options.connections <= NCCL_RMA_MAX_CONNECTIONS && options.threads >= 1 &&
                       options.threads <= kMostThreads && options.rail_stride >= 0 &&
                       exchange.size >= 1 && exchange.rank >= 0 && exchange.rank < exchange.size;
    if (!sound || !table) return fail(Errc::invalid_argument, "GinProxy::open");
    std::unique_ptr<GinProxy> proxy(new GinProxy(table, exchange, options));
    DUOFI_TRY(proxy->connect_all(instance));
    return proxy;
}

GinProxy::~GinProxy() {
    static_cast<void>(close());
}

Status GinProxy::connect_all(void* instance) {
    int devices = 0;
    DUOFI_TRY(status_of(client_.table().devices(&devices), "devices"));
    if (devices < 1) return fail(Errc::no_data, "devices");
    for (int i = 0; i < options_.connections; ++i) {
        auto line = std::make_unique<Line>();
        ConnectRequest request;
        request.instance = instance;
        request.connect_instance = instance;
        request.device = (options_.device + i) % devices;
        DUOFI_ASSIGN(
            line->connection,
            connect(client_, exchange_,
                    Members(exchange_.rank, exchange_.size, options_.rail_stride), request));
        lines_.push_back(std::move(line));
    }
    return {};
}

Result<Window> GinProxy::register_window(std::span<std::byte> memory, std::uint64_t flags) {
    OwnedWindow owned;
    owned.window.data = memory.data();
    owned.window.bytes = memory.size();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        auto part = client_.register_memory(lines_[i]->connection.group, memory, flags);
        if (!part) return gin::failed(part.error());
        owned.window.handles[i] = part->get();
        owned.parts.push_back(std::move(*part));
    }
    owned.window.number = ++windows_made_;
    record_window(owned);
    windows_.push_back(std::move(owned));
    return windows_.back().window;
}

void GinProxy::record_window(const OwnedWindow& owned) {
    if (options_.observers.recorder == nullptr) return;
    std::vector<const void*> handles;
    for (const loader::RmaWindow& part : owned.parts) handles.push_back(part.get());
    options_.observers.recorder->add_region(handles, owned.window.bytes);
}

Status GinProxy::deregister_window(const Window& window) {
    const auto found = std::ranges::find_if(
        windows_, [&](const OwnedWindow& owned) { return owned.window.number == window.number; });
    if (found == windows_.end()) return fail(Errc::invalid_argument, "deregister_window");
    Status first;
    for (loader::RmaWindow& part : found->parts)
        keep_first(first, status_of(part.close(), "deregMrSym"));
    windows_.erase(found);
    return first;
}

Result<DeviceComm*> GinProxy::create(const DeviceCommShape& shape) {
    if (shape.shape.contexts < 1 || shape.device.chunk_bytes < 1)
        return fail(Errc::invalid_argument, "GinProxy::create");
    auto comm = std::make_unique<DeviceComm>(shape);
    const int lines = static_cast<int>(lines_.size());
    ContextShape part_shape = shape.shape;
    part_shape.contexts = (shape.shape.contexts + lines - 1) / lines;
    for (int i = 0; i < lines; ++i) {
        DUOFI_ASSIGN(auto part, ProxyContext::open(client_, connection(i), part_shape,
                                                   options_.observers, i, lines));
        comm->parts_.push_back(std::move(part));
    }
    if (StreamRecorder* recorder = options_.observers.recorder)
        recorder->set_shape({static_cast<std::uint32_t>(size()), static_cast<std::uint32_t>(rank()),
                             static_cast<std::uint32_t>(shape.shape.contexts),
                             static_cast<std::uint32_t>(shape.shape.signals),
                             static_cast<std::uint32_t>(shape.shape.counters),
                             comm->part(0).queues(0).depth()});
    for (int i = 0; i < lines; ++i) lines_[static_cast<std::size_t>(i)]->add(&comm->part(i));
    comms_.push_back(std::move(comm));
    return comms_.back().get();
}

Status GinProxy::destroy(DeviceComm& comm) {
    const auto found =
        std::ranges::find_if(comms_, [&](const auto& own) { return own.get() == &comm; });
    if (found == comms_.end()) return fail(Errc::invalid_argument, "GinProxy::destroy");
    Status first;
    for (int i = 0; i < comm.connections(); ++i) {
        lines_[static_cast<std::size_t>(i)]->remove(&comm.part(i));
        keep_first(first, status_of(comm.part(i).close(), "destroyContext"));
    }
    comms_.erase(found);
    return first;
}

Pass GinProxy::pass_over(Line& line) {
    for (int i = 0; i < kYieldsForSetUp && line.waiting > 0; ++i) ::sched_yield();
    const std::lock_guard lock(line.mutex);
    if (line.failure.result != ncclSuccess) return Pass::failed;
    Pass all = Pass::idle;
    for (ProxyContext* context : line.contexts) {
        const Pass pass = context->progress();
        if (pass == Pass::failed) {
            line.abandon(context->failure());
            return Pass::failed;
        }
        if (pass == Pass::busy) all = Pass::busy;
    }
    return all;
}

/// A failure ends the thread, and with it everything that the thread serves.
void GinProxy::run(Worker& worker) {
    int idle = 0;
    while (!worker.stop.load(std::memory_order_acquire)) {
        bool busy = false;
        for (Line* line : worker.lines) {
            const Pass pass = pass_over(*line);
            busy = busy || pass == Pass::busy;
            if (pass != Pass::failed) continue;
            for (Line* other : worker.lines) {
                const std::lock_guard lock(other->mutex);
                other->abandon(line->failure);
            }
            return;
        }
        idle = busy ? 0 : idle + 1;
        if (idle < kPassesBeforeRest)
            ::sched_yield();
        else
            std::this_thread::sleep_for(kRest);
    }
}

void GinProxy::start() {
    if (!workers_.empty()) return;
    const auto count = static_cast<std::size_t>(options_.threads);
    for (std::size_t i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>());
    for (std::size_t i = 0; i < lines_.size(); ++i)
        workers_[i % count]->lines.push_back(lines_[i].get());
    for (const auto& worker : workers_)
        worker->thread = std::thread([this, own = worker.get()] { run(*own); });
}

void GinProxy::stop() {
    for (const auto& worker : workers_) worker->stop.store(true, std::memory_order_release);
    for (const auto& worker : workers_)
        if (worker->thread.joinable()) worker->thread.join();
    workers_.clear();
}

Pass GinProxy::progress() {
    Pass all = Pass::idle;
    for (const auto& line : lines_) {
        const Pass pass = pass_over(*line);
        if (pass == Pass::failed) return pass;
        if (pass == Pass::busy) all = pass;
    }
    return all;
}

bool GinProxy::failed() const noexcept {
    return std::ranges::any_of(comms_, [](const auto& comm) { return comm->failed(); });
}

Status GinProxy::close() {
    stop();
    Status first;
    while (!comms_.empty()) keep_first(first, destroy(*comms_.back()));
    while (!windows_.empty()) keep_first(first, deregister_window(windows_.back().window));
    for (const auto& line : lines_)
        keep_first(first, status_of(line->connection.group.close(), "closeColl"));
    lines_.clear();
    return first;
}

const Connection& GinProxy::connection(int index) const noexcept {
    return lines_[static_cast<std::size_t>(index)]->connection;
}

}  // namespace duofi::gin
