#include "rma_plugin/group.hpp"

#include <algorithm>

#include "common/ofi/quirks.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/listen_comm.hpp"

namespace duofi::rma {

Group::Group(ListenComm& listener, std::uint32_t rank, std::size_t ranks)
    : endpoint_(listener.share_endpoint()), rank_(rank), lanes_(ranks), windows_(*this) {
    const Settings& limits = endpoint_->domain().settings();
    remote_completion_ = limits.rma_completion != "local";
    segment_ = static_cast<std::size_t>(endpoint_->domain().info()->ep_attr->max_msg_size);
    if (limits.rma_segment != 0) segment_ = std::min(segment_, limits.rma_segment);
}

Group::~Group() {
    const Nanoseconds deadline = now_ns() + kDrainLimit;  // for all together
    while (!contexts_.empty()) end_context(*contexts_.back(), std::max<Nanoseconds>(deadline - now_ns(), 0));
    windows_.clear();
    const std::scoped_lock lock(endpoint_->mutex());
    for_each_lane([&](Lane& lane) { lane.close(connected_); });
    if (connected_) endpoint_->remove_passive_target();
    if (port_ != 0) endpoint_->ports().close(port_);
    if (late_signals_ != 0) log::info(log::net, messages::kRmaLateSignals, late_signals_, rank_);
}

void Group::on_message(const ofi::Message& message) noexcept {
    const auto kind = static_cast<ofi::MessageKind>(message.header.kind);
    if (kind == ofi::MessageKind::refuse) return on_refuse(message.header.word);
    const std::uint32_t from = message.header.flags;
    Lane* lane = from < size() ? lanes_[from].get() : nullptr;
    if (lane == nullptr || lane->peer() == nullptr) return;
    ++lane->peer()->heard;
    switch (kind) {
        case ofi::MessageKind::rma_signal: lane->on_signal(message); break;
        case ofi::MessageKind::rma_mark: lane->on_mark(message.header.value); break;
        case ofi::MessageKind::rma_applied: lane->on_applied(message.header.value); break;
        case ofi::MessageKind::rma_window: windows_.on_part(from, message); break;
        case ofi::MessageKind::rma_window_close: windows_.on_close(from, message.header.word); break;
        case ofi::MessageKind::rma_window_closed: windows_.on_closed(from, message.header.word); break;
        case ofi::MessageKind::rma_close:
            // A rank whose own connect failed was never one of us (C-9).
            if (message.header.value != 0 && !connected_) setup_error_ = Errc::remote;
            lane->on_left();
            break;
        default: break;
    }
}

void Group::rank_lost() noexcept {
    for (auto& context : contexts_) context->set_failed();
}

void Group::fail_requests(const Lane& lane) noexcept {
    for (auto& context : contexts_) context->fail_requests(lane);
}

Request* Group::oldest_pending(const Lane& lane) noexcept {
    Request* oldest = nullptr;
    for (auto& context : contexts_)
        context->for_each_request([&](Request& request) {
            if (request.pending() && request.lane == &lane && (oldest == nullptr || request.started < oldest->started))
                oldest = &request;
        });
    return oldest;
}

bool Group::reads_from(const Lane& lane, std::uint32_t window) noexcept {
    bool found = false;
    for (auto& context : contexts_)
        context->for_each_request([&](const Request& request) {
            found = found || (request.in_flight && request.get && request.lane == &lane && request.remote_window == window);
        });
    return found;
}

void Group::violation(std::uint32_t rank, const char* what) noexcept {
    Lane& lane = *lanes_[rank];
    log::warn(log::net, messages::kProtocolViolation, endpoint_->domain().device().name,
              endpoint_->peer_text(*lane.peer()), what);
    endpoint_->lose_peer(*lane.peer(), what);
}

Context& Group::add_context(int count) {
    auto context = std::make_unique<Context>(*this, count);
    Context& added = *context;
    added.handle = open_object(added);  // before a lost rank could want to mark it
    const std::scoped_lock both(contexts_mutex_, endpoint_->mutex());
    contexts_.push_back(std::move(context));
    return added;
}

void Group::end_context(Context& context, Nanoseconds limit) {
    context.drain(limit);
    std::unique_ptr<Context> ended;
    const std::scoped_lock both(contexts_mutex_, endpoint_->mutex());
    const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                    [&](const auto& owned) { return owned.get() == &context; });
    if (found == contexts_.end()) return;
    ended = std::move(*found);
    contexts_.erase(found);
    if (ended->handle != nullptr) end_object(*ended->handle);
}

}  // namespace duofi::rma
