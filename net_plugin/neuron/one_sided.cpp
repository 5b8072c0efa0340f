#include "net_plugin/neuron/one_sided.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/neuron.hpp"
#include "common/util/messages/ofi.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/sendrecv/transfer_report.hpp"

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
    : ofi_(endpoint), comm_(comm), requests_(caller_memory().rma_requests, kMaxRequests) {}

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
    while (!queue_.empty() && post_head(*queue_.head()) == Step::gone) queue_.pop();
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
        log::warn(log::net, messages::kKeyRefused, entry_name(transfer.kind), ofi_.domain().device().name,
                  ofi_.peer_text(*peer_), transfer.size, transfer.address, transfer.key);
        request.fail_with(ncclInvalidArgument);
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

void OneSided::answer(std::uint64_t key) noexcept {
    if (peer_ == nullptr) return;  // a question before the connection stands
    const ofi::Domain& domain = ofi_.domain();
    RemoteRegion region;
    const auto exposed = domain.exposed().find(key);
    if (exposed) region = {exposed->address, exposed->length, domain.addresses_are_virtual() ? 0 : exposed->address};
    (void)send(ofi::MessageKind::net_key_answer, exposed ? 1 : 0, key,
               exposed ? std::as_bytes(std::span(&region, 1)) : std::span<const std::byte>());
}

void OneSided::on_answer(const ofi::Message& message) noexcept {
    if (!asking_ || queue_.empty() || queue_.head()->transfer.key != message.header.value) return;
    asking_ = false;
    queue_.head()->answered = true;
    const std::uint64_t key = message.header.value;
    known_.erase(key);
    if (message.header.word == 1 && message.payload.size() == sizeof(RemoteRegion)) {
        RemoteRegion region;
        std::memcpy(&region, message.payload.data(), sizeof(region));
        if (known_.size() >= kMaxKnownKeys) known_.clear();
        known_.emplace(key, region);
    }
    pump();
}

bool OneSided::on_message(const ofi::Message& message) noexcept {
    switch (static_cast<ofi::MessageKind>(message.header.kind)) {
        case ofi::MessageKind::net_key_ask: answer(message.header.value); return true;
        case ofi::MessageKind::net_key_answer: on_answer(message); return true;
        default: return false;
    }
}

void OneSided::peer_closed() noexcept {
    closed_ = true;
    for (; !queue_.empty(); queue_.pop()) queue_.head()->fail_with(ncclRemoteError);
}

void OneSided::on_tick(Nanoseconds now) noexcept {
    if (waiting()) report_stalled(ofi_, *peer_, requests_, now);
}

void OneSided::close(Nanoseconds limit) noexcept {
    closed_ = true;
    queue_ = {};
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
    if (completion.error == 0)
        request.finish();
    else
        self.failed(request, completion);
}

// The provider has refused or lost it: what it thinks of the connection is told by the next message.
void OneSided::failed(RmaRequest& request, const ofi::Completion& completion) noexcept {
    if (!ended()) report_failed(ofi_, *peer_, request.facts(), completion);
    request.fail_with(ncclRemoteError);
}

}  // namespace duofi::net
