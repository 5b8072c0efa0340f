#include "rma_plugin/lane.hpp"

#include <algorithm>

#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/context.hpp"
#include "rma_plugin/group.hpp"

namespace duofi::rma {

Status Lane::open(const ofi::EndpointName& name) {
    ofi::Endpoint& endpoint = group_.endpoint();
    Error reason;
    peer_ = endpoint.acquire_peer(name, &reason);
    if (peer_ == nullptr) {
        if (reason.code == Errc::invalid_argument)
            log::warn(log::net, messages::kRmaBadHandle, rank_, "for an address that the provider refuses");
        return tl::unexpected(reason);
    }
    endpoint.add_user(*peer_, *this);
    return {};
}

void Lane::close(bool connected) noexcept {
    if (peer_ == nullptr) return;
    ofi::Endpoint& endpoint = group_.endpoint();
    if (joined() && !gone()) send(ofi::MessageKind::rma_close, 0, connected ? 0 : 1, {});
    for (Request* orphan : orphans_) {  // the provider has them, nobody else: their memory is never used again
        orphan->transfer.request = nullptr;
        --peer_->data_in_flight;
    }
    orphans_.clear();
    endpoint.forget_dirty(*peer_, *this);
    endpoint.remove_user(*peer_, *this);
    endpoint.release_peer(peer_);
    peer_ = nullptr;
}

void Lane::join(const ofi::Hello& hello) noexcept {
    remote_port_ = hello.port;
    group_.endpoint().identify(*peer_, hello.identity, hello.packet_bytes);
}

ofi::MessageHeader Lane::header_for(ofi::MessageKind kind) const noexcept {
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.flags = static_cast<std::uint16_t>(group_.rank());  // never rely on the source address
    header.port = remote_port_;
    return header;
}

bool Lane::send(ofi::MessageKind kind, std::uint32_t word, std::uint64_t value,
                std::span<const std::byte> payload) noexcept {
    ofi::MessageHeader header = header_for(kind);
    header.word = word;
    header.value = value;
    const bool taken = group_.endpoint().send_message(*peer_, header, payload);
    group_.endpoint().rouse(*peer_);
    return taken;
}

void Lane::post(Request& request) noexcept {
    request.lane = this;
    request.transfer.request = &request;
    request.transfer.complete = &Lane::transfer_complete;
    unposted_.push(request);
    if (unposted_.head() == &request) pump();
    group_.endpoint().rouse(*peer_);
}

// Sending may call back here through the endpoint (flush before a packet leaves): the outer call goes on then.
void Lane::pump() noexcept {
    pump_again_ = true;
    if (pumping_) return;
    pumping_ = true;
    while (pump_again_) {
        pump_again_ = false;
        while (!unposted_.empty() && post_head(*unposted_.head())) {}
        send_mark();
        send_answer();
    }
    pumping_ = false;
    if (!unposted_.empty() && !gone()) group_.endpoint().mark_dirty(*peer_, *this);
}

void Lane::flush() noexcept {
    if (!withdrawn_.empty()) answer_withdrawals();
    pump();
}

// true: the operation has left the queue and the next one may follow.
bool Lane::post_head(Request& request) noexcept {
    if (gone()) return false;
    if (request.posted < request.size && !post_pieces(request)) return false;
    if (request.get) {
        unposted_.pop();
        return true;
    }
    if (request.signal.wanted && !send_signal(request)) return false;
    if (gone()) return false;  // the packet was refused for good: the queues are empty
    unposted_.pop();
    if (request.sequence == 0) request.sequence = ++issued_;
    request.applied = !group_.remote_completion();
    if (request.confirmed)
        told_ = issued_;
    else if (!request.applied)
        unapplied_.push(request);
    settle(request);
    return !gone();
}

// A put that is alone is confirmed by the provider, which takes less than a mark and its answer; several share those.
bool Lane::worth_confirming(const Request& request, std::size_t piece) const noexcept {
    return group_.endpoint().domain().device().confirms_writes && group_.remote_completion() && !request.get && !request.signal.wanted && piece == request.size &&
           unapplied_.empty() && in_provider_ == 0 && request.next == nullptr;
}

// One piece at a time, so that they arrive in order; all but the last one complete before the next is posted.
bool Lane::post_pieces(Request& request) noexcept {
    ofi::Endpoint& endpoint = group_.endpoint();
    if (request.in_flight) return false;
    const std::size_t piece = std::min(request.size - request.posted, group_.segment());
    std::byte* data = request.local + request.posted;
    const std::uint64_t address = request.remote_address + request.posted;
    request.confirmed = worth_confirming(request, piece);
    ofi::Posted posted;
    if (request.get)
        posted = endpoint.post_read(*peer_, data, piece, request.descriptor, address, request.remote_key, request.transfer);
    else if (request.confirmed)
        posted = endpoint.post_placed_write(*peer_, data, piece, request.descriptor, address, request.remote_key, false,
                                            request.transfer);
    else
        posted = endpoint.post_write(*peer_, data, piece, request.descriptor, address, request.remote_key, request.transfer);
    if (posted != ofi::Posted::yes) return false;
    ++in_provider_;
    request.in_flight = true;
    request.posted += piece;
    return request.posted == request.size;
}

bool Lane::send_signal(Request& request) noexcept {
    SignalBody body;
    body.addend = request.signal.addend;
    body.sequence = issued_ + 1;
    body.index = signals_;
    body.answer = group_.remote_completion() ? 1 : 0;
    ++issued_;  // before the message leaves: sending may come back here
    ++signals_;
    request.sequence = body.sequence;
    if (!send(ofi::MessageKind::rma_signal, request.signal.window, request.signal.offset,
              std::as_bytes(std::span(&body, 1)))) {
        if (gone()) return false;
        --issued_;  // no memory for a packet now: nothing has left
        --signals_;
        request.sequence = 0;
        return false;
    }
    told_ = std::max(told_, body.sequence);
    return true;
}

// Asks when the puts so far are there, unless a signal behind them does. A busy peer is asked with the next packet.
void Lane::send_mark() noexcept {
    if (gone() || told_ >= issued_ || !group_.remote_completion()) return;
    if (!peer_->in_flush && (peer_->in_flight != 0 || !peer_->idle())) {
        group_.endpoint().mark_dirty(*peer_, *this);
        return;
    }
    const std::uint64_t sequence = issued_, before = told_;
    told_ = sequence;
    if (send(ofi::MessageKind::rma_mark, 0, sequence, {}) || gone()) return;
    told_ = before;  // no memory for a packet now
    group_.endpoint().mark_dirty(*peer_, *this);
}

void Lane::send_answer() noexcept {
    if (gone() || !joined() || answered_ >= received_) return;
    const std::uint64_t sequence = received_;
    if (send(ofi::MessageKind::rma_applied, 0, sequence, {}))
        answered_ = sequence;
    else if (!gone())
        group_.endpoint().mark_dirty(*peer_, *this);
}

// Done when the provider has let go of the caller's memory and, for puts, the target has applied it.
void Lane::settle(Request& request) noexcept {
    const bool moved = !request.in_flight && request.posted == request.size;
    if (!request.pending() || !moved) return;
    if (!request.get && (request.sequence == 0 || !request.applied)) return;
    request.context->finish(request);
}

void Lane::transfer_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    Request* request = static_cast<Transfer&>(op).request;
    if (request == nullptr) return;  // its context has ended before it
    request->lane->piece_done(*request, completion);
}

void Lane::piece_done(Request& request, const ofi::Completion& completion) noexcept {
    request.in_flight = false;
    --in_provider_;
    --peer_->data_in_flight;
    if (request.context == nullptr) {
        std::erase(orphans_, &request);
        if (!withdrawn_.empty()) answer_withdrawals();
        return;
    }
    if (request.retired) {
        request.context->reuse(request);
        return;
    }
    if (completion.error != 0) {
        if (!request.pending()) return;  // the rank was lost before
        log::warn(log::net, messages::kRmaOperationFailed, request.get ? "iget" : "iput", rank_, request.size,
                  completion.error, ofi::error_text(completion.error));
        group_.endpoint().lose_peer(*peer_, ofi::error_text(completion.error));
        if (request.pending()) fail_all();  // it had closed before
        return;
    }
    if (request.confirmed) request.applied = true;
    if (request.cut_short && request.pending())
        request.context->fail(request, ncclRemoteError);
    else if (request.posted < request.size)
        group_.endpoint().mark_dirty(*peer_, *this);  // the next piece
    else
        settle(request);
    if (!withdrawn_.empty()) answer_withdrawals();
}

void Lane::withdraw(std::uint32_t window) noexcept {
    unposted_.remove_if([&](Request& request) {
        if (request.remote_window != window) return false;
        if (request.get) return withdraw_get(request);
        request.size = request.posted;  // its data is dropped, its signal is not
        if (request.signal.wanted || request.in_flight) return false;
        request.context->finish(request);
        return true;
    });
    withdrawn_.push_back(window);
    answer_withdrawals();
}

// true: it has failed at once; otherwise it fails when the piece under way is back.
bool Lane::withdraw_get(Request& request) noexcept {
    request.cut_short = true;
    if (!request.in_flight) request.context->fail(request, ncclRemoteError);
    return true;
}

// Writes are ahead of the answer on the same ordered way; reads must have come back.
void Lane::answer_withdrawals() noexcept {
    for (std::size_t i = 0; i < withdrawn_.size();) {
        const std::uint32_t window = withdrawn_[i];
        const bool orphaned = std::any_of(orphans_.begin(), orphans_.end(), [&](const Request* orphan) {
            return orphan->get && orphan->remote_window == window;
        });
        if (orphaned || group_.reads_from(*this, window)) {
            ++i;
            continue;
        }
        withdrawn_.erase(withdrawn_.begin() + static_cast<std::ptrdiff_t>(i));  // sending may come back here
        if (gone() || send(ofi::MessageKind::rma_window_closed, window, 0, {})) continue;
        withdrawn_.push_back(window);
        group_.endpoint().mark_dirty(*peer_, *this);
        return;
    }
}

void Lane::abandon(const Context& context) noexcept {
    const auto of_context = [&](const Request& request) { return request.context == &context; };
    unposted_.remove_if(of_context);
    unapplied_.remove_if(of_context);
}

void Lane::adopt(Request& orphan) {
    orphan.context = nullptr;
    orphans_.push_back(&orphan);
}

bool Lane::works_on(std::uint32_t local_window) const noexcept {
    return std::any_of(orphans_.begin(), orphans_.end(),
                       [&](const Request* orphan) { return orphan->local_window == local_window; });
}

void Lane::on_applied(std::uint64_t sequence) noexcept {
    while (!unapplied_.empty() && unapplied_.head()->sequence <= sequence) {
        Request& request = *unapplied_.head();
        unapplied_.pop();
        request.applied = true;
        settle(request);
    }
}

bool Lane::waiting() const noexcept {
    return !unposted_.empty() || !unapplied_.empty() || in_provider_ != 0 || (group_.awaiting() && !gone());
}

void Lane::on_left() noexcept {
    left_ = true;
    fail_all();
}

void Lane::on_peer_lost() noexcept {
    if (lost_) return;
    lost_ = true;
    if (!left_) group_.rank_lost();
    fail_all();
}

void Lane::fail_all() noexcept {
    unposted_.clear();
    unapplied_.clear();
    group_.fail_requests(*this);
}

void Lane::on_tick(Nanoseconds now) noexcept {
    const auto limit = static_cast<Nanoseconds>(group_.settings().stall_seconds * kSecond);
    if (limit <= 0 || !waiting()) return;
    Request* const oldest = group_.oldest_pending(*this);
    if (oldest == nullptr || oldest->stall_told || now - oldest->started < limit) return;
    oldest->stall_told = true;
    log::warn(log::net, messages::kStalled, oldest->get ? "iget" : oldest->signal.wanted ? "iputSignal" : "iput",
              group_.endpoint().domain().device().name, group_.endpoint().peer_text(*peer_), oldest->size, rank_,
              (now - oldest->started) / kSecond);
}

}  // namespace duofi::rma
