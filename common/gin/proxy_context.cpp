#include "common/gin/proxy_context.hpp"

#include <algorithm>
#include <utility>

#include "common/util/log.hpp"
#include "common/util/messages/gin.hpp"

namespace duofi::gin {
namespace {

std::size_t index_of(int context, int per_context, int id) noexcept {
    return static_cast<std::size_t>(context) * static_cast<std::size_t>(per_context) +
           static_cast<std::size_t>(id);
}

}  // namespace

ProxyContext::ProxyContext(const loader::RmaClient& client, const Connection& connection,
                           const ContextShape& shape, const Observers& observers)
    : client_(client), connection_(connection), shape_(shape), observers_(observers), pauses_(shape.pause_seed) {
    shape_.poll_batch = std::max(shape_.poll_batch, 1);
}

Result<std::unique_ptr<ProxyContext>> ProxyContext::open(const loader::RmaClient& client,
                                                         const Connection& connection,
                                                         const ContextShape& shape,
                                                         const Observers& observers,
                                                         int first_context, int context_step) {
    if (shape.contexts < 1 || shape.signals < 0 || shape.counters < 0)
        return fail(Errc::invalid_argument, "ProxyContext::open");
    std::unique_ptr<ProxyContext> context(new ProxyContext(client, connection, shape, observers));
    context->first_context_ = first_context;
    context->context_step_ = context_step;
    DUOFI_TRY(context->set_up());
    return context;
}

Status ProxyContext::set_up() {
    auto context = client_.create_context(connection_.group, shape_.contexts, shape_.rank_stride,
                                          shape_.traffic_class);
    if (!context) return gin::failed(context.error());
    context_ = std::move(*context);
    ncclRmaProperties_v16_t properties{};
    const ncclResult_t result =
        client_.table().rma_properties(connection_.group.get(), &properties);
    if (result != ncclSuccess) return gin::failed({result, false, "getRmaProperties"});
    flushes_all_puts_ = properties.flushesAllPutsOnAnySignal;

    const auto contexts = static_cast<std::size_t>(shape_.contexts);
    signals_.resize(contexts * static_cast<std::size_t>(signals_per_context()));
    offsets_.resize(signals_.size());
    counters_.resize(contexts * static_cast<std::size_t>(shape_.counters));
    auto window = client_.register_memory(
        connection_.group, std::as_writable_bytes(std::span(signals_)), shape_.signal_flags);
    if (!window) return gin::failed(window.error());
    signal_window_ = std::move(*window);

    const int peers = members().size();
    const std::uint32_t depth = queue_depth(shape_.queue_size, connection_.properties.maxRecvs);
    lanes_.resize(contexts);
    for (Lane& lane : lanes_) {
        const std::size_t slots = static_cast<std::size_t>(peers) * depth;
        lane.queues = std::make_unique<Queues>(peers, depth);
        lane.seen.resize(static_cast<std::size_t>(peers));
        lane.shadow.resize(static_cast<std::size_t>(peers));
        lane.slots.resize(slots);
        lane.inlines.resize(slots);
        auto inlines = client_.register_memory(connection_.group,
                                               std::as_writable_bytes(std::span(lane.inlines)));
        if (!inlines) return gin::failed(inlines.error());
        lane.inline_window = std::move(*inlines);
    }
    return {};
}

ProxyContext::~ProxyContext() {
    static_cast<void>(close());
}

ncclResult_t ProxyContext::close() {
    ncclResult_t first = ncclSuccess;
    const auto note = [&first](ncclResult_t result, const char* call) {
        if (result == ncclSuccess) return;
        log::warn(log::net, messages::kProxyCloseFailed, call, static_cast<int>(result));
        if (first == ncclSuccess) first = result;
    };
    note(context_.close(), "destroyContext");
    note(signal_window_.close(), "deregMrSym");
    for (Lane& lane : lanes_) note(lane.inline_window.close(), "deregMrSym");
    return first;
}

bool ProxyContext::plugin_reports_error() const {
    bool has_error = false;
    return client_.table().query_last_error(context_.get(), &has_error) != ncclSuccess || has_error;
}

void ProxyContext::abandon(const ProxyFailure& failure) noexcept {
    if (failed_.load(std::memory_order_relaxed)) return;
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
}

int ProxyContext::signals_per_context() const noexcept {
    return shape_.signals + members().size();
}

std::atomic_ref<std::uint64_t> ProxyContext::signal(int context, int id) noexcept {
    return std::atomic_ref(signals_[index_of(context, signals_per_context(), id)]);
}

std::uint64_t& ProxyContext::signal_offset(int context, int id) noexcept {
    return offsets_[index_of(context, signals_per_context(), id)];
}

std::atomic_ref<std::uint64_t> ProxyContext::counter(int context, int id) noexcept {
    return std::atomic_ref(counters_[index_of(context, shape_.counters, id)]);
}

ProxyContext::Slot& ProxyContext::slot(Lane& lane, int peer, std::uint32_t index) noexcept {
    const std::uint32_t depth = lane.queues->depth();
    return lane.slots[static_cast<std::size_t>(peer) * depth + (index & (depth - 1))];
}

bool ProxyContext::fail_with(ncclResult_t result, const char* call, const Place& place) {
    failure_ = {result, call};
    failed_.store(true, std::memory_order_release);
    log::warn(log::net, messages::kGinProxyStopped, call, static_cast<int>(result),
              members().rank_of(place.peer), context_number(place.context));
    return false;
}

}  // namespace duofi::gin
