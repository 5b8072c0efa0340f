#include "net_plugin/neuron/one_sided.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>

#include "common/ofi/quirks.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/neuron.hpp"
#include "common/util/messages/ofi.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/comms/transfer_report.hpp"

namespace duofi::net {

void OneSided::Queue::push(RmaRequest& request) noexcept {
    request.next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = &request;
    tail_ = &request;
}

void OneSided::Queue::pop() noexcept {
    head_ = head_->next;
    if (head_ == nullptr) tail_ = nullptr;
}

OneSided::OneSided(ofi::Endpoint& endpoint, RequestOwner& comm)
    : ofi_(endpoint),
      comm_(comm),
      requests_(caller_memory().rma_requests, kMaxRequests),
      tells_refusals_(ofi::quirk_for(endpoint.domain().device().provider, fi_version()).tells_refusals) {}

void OneSided::join(ofi::Peer& peer, std::uint32_t remote_port) noexcept {
    peer_ = &peer;
    remote_port_ = remote_port;
}

bool OneSided::acceptable(const RmaTransfer& transfer, void* memory, void*& descriptor) noexcept {
    const char* name = entry_name(transfer.kind);
    const bool is_inline = transfer.kind == RmaKind::write_inline;
    if (is_inline && !inline_limit_) inline_limit_ = ofi_.inject_limit();
    const std::size_t most = is_inline ? *inline_limit_
                                       : std::min<std::size_t>(ofi_.domain().device().max_msg_size, INT_MAX);
    if (transfer.size > most) {
        log::warn(log::net, messages::kTooLong, name, transfer.size, most);
        return false;
    }
    if (!is_inline)
        return check_memory(ofi_.domain(), memory, transfer.data, transfer.size, name, descriptor);
    if (transfer.data != nullptr || transfer.size == 0) return true;
    log::warn(log::net, messages::kNullArgument, name, "src");
    return false;
}

void OneSided::fill(RmaRequest& request, const RmaTransfer& transfer, void* descriptor) {
    request.operations = this;
    request.transfer = transfer;
    request.descriptor = descriptor;
    request.answered = false;
    request.op.posted = false;
    request.size_count = 1;
    request.sizes[0] = static_cast<int>(transfer.size);
    if (transfer.kind != RmaKind::write_inline || transfer.size == 0) return;
    const auto* bytes = static_cast<const std::byte*>(transfer.data);
    request.copy.assign(bytes, bytes + transfer.size);
    request.transfer.data = request.copy.data();
}

Result<Request*> OneSided::start(const RmaTransfer& transfer, void* memory) {
    const char* name = entry_name(transfer.kind);
    void* descriptor = nullptr;
    if (!acceptable(transfer, memory, descriptor)) return fail(Errc::invalid_argument, name);
    const std::scoped_lock lock(ofi_.mutex());
    if (ended()) return fail(Errc::remote, name);
    RmaRequest* request = peer_ != nullptr ? requests_.acquire(*this, ofi_.tick_time()) : nullptr;
    if (request == nullptr) {
        ofi_.poll();  // a refusal has polled, or it would last for ever (P9)
        return nullptr;
    }
    fill(*request, transfer, descriptor);
    if (transfer.size == 0) {  // no provider is asked to move nothing: some never say that they did
        request->finish();
        return request;
    }
    queue_.push(*request);
    if (queue_.head() == request) pump();
    ofi_.rouse(*peer_);
    return request;
}

void OneSided::pump() noexcept {
    doubt();
    while (!queue_.empty() && post_head(*queue_.head()) == Step::gone) queue_.pop();
}

void OneSided::refuse(RmaRequest& request) noexcept {
    const RmaTransfer& transfer = request.transfer;
    log::warn(log::net, messages::kKeyRefused, entry_name(transfer.kind), ofi_.domain().device().name,
              ofi_.peer_text(*peer_), transfer.size, transfer.address, transfer.key);
    request.fail_with(ncclInvalidArgument);
}

OneSided::Step OneSided::post_head(RmaRequest& request) noexcept {
    if (ended()) return Step::stays;  // test tells it
    const RmaTransfer& transfer = request.transfer;
    const auto known = known_.find(transfer.key);
    if (known == known_.end() || !known->second.covers(transfer.address, transfer.size)) {
        if (!request.answered) {
            ask(transfer.key);
            return Step::stays;
        }
        refuse(request);
        return Step::gone;
    }
    request.op.complete = &OneSided::complete;
    request.op.owner = &request;
    const ofi::Posted posted = post(request, known->second);
    if (posted == ofi::Posted::again) ofi_.mark_dirty(*peer_, *this);
    if (posted != ofi::Posted::yes) return Step::stays;
    request.op.posted = true;
    ++at_provider_;
    return Step::gone;
}

ofi::Posted OneSided::post(RmaRequest& request, const RemoteRegion& region) noexcept {
    const RmaTransfer& transfer = request.transfer;
    const std::uint64_t address = transfer.address - region.origin;
    if (transfer.kind == RmaKind::read)
        return ofi_.post_read(*peer_, transfer.data, transfer.size, request.descriptor, address, transfer.key,
                              request.op);
    return ofi_.post_placed_write(*peer_, transfer.data, transfer.size, request.descriptor, address, transfer.key,
                                  transfer.kind == RmaKind::write_inline, request.op);
}

bool OneSided::send(ofi::MessageKind kind, std::uint32_t word, std::uint64_t value,
                    std::span<const std::byte> payload) noexcept {
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.port = remote_port_;
    header.word = word;
    header.value = value;
    return ofi_.send_message(*peer_, header, payload);
}

void OneSided::ask(std::uint64_t key) noexcept {
    if (asking_) return;
    asking_ = true;  // before the message leaves: sending may come back here
    if (send(ofi::MessageKind::net_key_ask, 0, key, {})) return;
    asking_ = false;
    if (!peer_->gone()) ofi_.mark_dirty(*peer_, *this);  // no memory for a packet now
}

void OneSided::answer(const ofi::MessageHeader& question) noexcept {
    if (peer_ == nullptr) return;  // a question before the connection stands
    const ofi::Domain& domain = ofi_.domain();
    RemoteRegion region;
    const auto exposed = domain.exposed().find(question.value);
    if (exposed) region = {exposed->address, exposed->length, domain.addresses_are_virtual() ? 0 : exposed->address};
    (void)send(ofi::MessageKind::net_key_answer, (exposed ? kKnown : 0) | (question.word & kAfterwards), question.value,
               exposed ? std::as_bytes(std::span(&region, 1)) : std::span<const std::byte>());
}

// An access that is done and whose key is still good afterwards was not refused.
void OneSided::doubt() noexcept {
    while (unasked_ != nullptr && !ended()) {
        RmaRequest& request = *unasked_;
        unasked_ = request.next;  // before the message leaves: sending may come back here
        if (send(ofi::MessageKind::net_key_ask, kAfterwards, request.transfer.key, {})) continue;
        if (ended()) return;
        unasked_ = &request;
        ofi_.mark_dirty(*peer_, *this);  // no memory for a packet now
        return;
    }
}

void OneSided::on_doubt_answered(const ofi::MessageHeader& answer) noexcept {
    if (doubted_.empty() || doubted_.head() == unasked_ || doubted_.head()->transfer.key != answer.value) return;
    RmaRequest& request = *doubted_.head();
    doubted_.pop();
    if ((answer.word & kKnown) != 0) {
        request.finish();
        return;
    }
    known_.erase(answer.value);
    refuse(request);
}

void OneSided::on_answer(const ofi::Message& message) noexcept {
    if ((message.header.word & kAfterwards) != 0) {
        on_doubt_answered(message.header);
        return;
    }
    if (!asking_ || queue_.empty() || queue_.head()->transfer.key != message.header.value) return;
    asking_ = false;
    queue_.head()->answered = true;
    const std::uint64_t key = message.header.value;
    known_.erase(key);
    if ((message.header.word & kKnown) != 0 && message.payload.size() == sizeof(RemoteRegion)) {
        RemoteRegion region;
        std::memcpy(&region, message.payload.data(), sizeof(region));
        if (known_.size() >= kMaxKnownKeys) known_.clear();
        known_.emplace(key, region);
    }
    pump();
}

bool OneSided::on_message(const ofi::Message& message) noexcept {
    switch (static_cast<ofi::MessageKind>(message.header.kind)) {
        case ofi::MessageKind::net_key_ask: answer(message.header); return true;
        case ofi::MessageKind::net_key_answer: on_answer(message); return true;
        default: return false;
    }
}

void OneSided::peer_closed() noexcept {
    closed_ = true;
    unasked_ = nullptr;
    for (Queue* queue : {&queue_, &doubted_})
        for (; !queue->empty(); queue->pop()) queue->head()->fail_with(ncclRemoteError);
}

void OneSided::on_tick(Nanoseconds now) noexcept {
    if (waiting()) report_stalled(ofi_, *peer_, requests_, now);
}

void OneSided::close(Nanoseconds limit) noexcept {
    closed_ = true;
    queue_ = {};
    doubted_ = {};
    unasked_ = nullptr;
    if (peer_ == nullptr) return;
    ofi_.forget_dirty(*peer_, *this);
    if (at_provider_ == 0) return;
    const auto each_posted = [&](auto&& f) {
        requests_.for_each_slot([&](RmaRequest& request) {
            if (request.op.posted) f(request);
        });
    };
    each_posted([&](RmaRequest& request) { ofi_.cancel(request.op); });
    const Deadline deadline(limit);
    do ofi_.poll();
    while (at_provider_ != 0 && !deadline.passed());
    if (at_provider_ == 0) return;
    each_posted([&](RmaRequest& request) {
        request.op.owner = nullptr;
        --peer_->data_in_flight;
    });
    requests_.keep_memory();
}

void OneSided::progress(Request& request) {
    if (!request.pending() && !ofi_.wants_poll()) return;
    const std::scoped_lock lock(ofi_.mutex());
    ofi_.poll();
    if (request.pending() && ended()) look_for_end();
}

// The comm looks after an open connection only.
void OneSided::look_for_end() noexcept {
    peer_closed();
    if (peer_->gone())
        peer_gone_.store(true, std::memory_order_release);
    else
        on_tick(ofi_.tick_time());
}

void OneSided::retire(Request& request) { requests_.release(static_cast<RmaRequest&>(request)); }

void OneSided::complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    auto& data = static_cast<DataOperation&>(op);
    data.posted = false;
    if (data.owner == nullptr) return;  // its comm is closed
    RmaRequest& request = *static_cast<RmaRequest*>(data.owner);
    OneSided& self = *request.operations;
    --self.at_provider_;
    --self.peer_->data_in_flight;
    if (completion.error != 0) {
        self.failed(request, completion);
    } else if (self.tells_refusals_) {
        request.finish();
    } else {
        self.doubted_.push(request);
        if (self.unasked_ == nullptr) self.unasked_ = &request;
        self.doubt();
    }
}

// The provider has refused or lost it: what it thinks of the connection is told by the next message.
void OneSided::failed(RmaRequest& request, const ofi::Completion& completion) noexcept {
    if (!ended()) report_failed(ofi_, *peer_, request.facts(), completion);
    request.fail_with(ncclRemoteError);
}

}  // namespace duofi::net
