// isend and its messages. Connecting and closing: send_connection.cpp.
#include "net_plugin/sendrecv/send_comm.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/sendrecv/transfer_report.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kAskFirst = kMillisecond;
constexpr Nanoseconds kAskAgain = 10 * kMillisecond;

}  // namespace

SendrecvSendComm::SendrecvSendComm(SendrecvEndpoint& endpoint)
    : SendComm(endpoint),
      endpoint_(endpoint),
      ofi_(endpoint.ofi()),
      requests_(caller_memory().send_requests, kMaxSendRequests),
      one_sided_(ofi_, *this) {}

Result<void*> SendrecvSendComm::register_memory(void* data, std::size_t size) {
    return make_memory_handle(ofi_.domain(), data, size, ofi_.fid());
}

ofi::MessageHeader SendrecvSendComm::header_for(ofi::MessageKind kind) const noexcept {
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.port = remote_port_;
    return header;
}

Result<Request*> SendrecvSendComm::isend(void* data, std::size_t size, int tag, void* memory) {
    void* descriptor = nullptr;
    if (!check_memory(ofi_.domain(), memory, data, size, "isend", descriptor))
        return fail(Errc::invalid_argument, "isend");
    if (stage_ == Stage::asking) {  // a comm of v4, which may be used before the other side has accepted
        DUOFI_ASSIGN(const bool ready, continue_connect());
        if (!ready) return nullptr;
    }
    const std::scoped_lock lock(ofi_.mutex());
    if (failure() != ncclSuccess) return fail(Errc::remote, "isend");
    std::uint32_t index = 0;
    if (!tags_.peek(tag, index)) {
        log::warn(log::net, messages::kTooManyTags, "isend", TagOrder::kMaxTags);
        return fail(Errc::invalid_usage, "isend");
    }
    SendRequest* request = requests_.acquire(*this, ofi_.tick_time());
    if (request == nullptr) {
        ofi_.poll();  // a refusal has polled, or it would last for ever (P9)
        return nullptr;
    }
    request->comm = this;
    request->data = data;
    request->size = size;
    request->descriptor = descriptor;
    request->tag = tag;
    request->index = index;
    request->op.posted = false;
    request->size_count = 1;
    request->sizes[0] = static_cast<int>(size);
    tags_.advance(tag);
    if (size <= eager_limit_) {
        if (blocked_.empty() && send_eager(*request)) return request;
        blocked_.push(request);
        ofi_.mark_dirty(*peer_, *this);
        return request;
    }
    Announcement announcement;
    if (take_announcement(tag, index, announcement)) {
        announced(*request, announcement);
        if (ready_.head() == request) flush();
    } else {
        unannounced_.push(request);
        const Nanoseconds now = now_ns();
        request->ask_at = now + kAskFirst;
        if (last_was_eager_) ask_for(*request, now);
    }
    last_was_eager_ = false;
    return request;
}

// The caller's buffer is free again at once: the bytes wait in the packet.
bool SendrecvSendComm::send_eager(SendRequest& request) noexcept {
    if (eager_sent_ - eager_consumed_ >= credits_) return false;
    ofi::MessageHeader header = header_for(ofi::MessageKind::net_eager);
    header.length = static_cast<std::uint32_t>(request.size);
    header.word = static_cast<std::uint32_t>(request.tag);
    header.value = request.index;
    std::byte* place = ofi_.reserve(*peer_, header, true);
    if (place == nullptr) return false;
    if (request.size != 0) std::memcpy(place, request.data, request.size);
    ofi_.commit(*peer_);
    ++eager_sent_;
    last_was_eager_ = true;
    Announcement unused;
    if (!announcements_.empty()) (void)take_announcement(request.tag, request.index, unused);
    request.finish();
    return true;
}

bool SendrecvSendComm::take_announcement(int tag, std::uint32_t index, Announcement& out) noexcept {
    for (auto it = announcements_.begin(); it != announcements_.end(); ++it) {
        if (it->tag != tag || it->index != index) continue;
        out = *it;
        announcements_.erase(it);
        return true;
    }
    return false;
}

void SendrecvSendComm::announced(SendRequest& request, const Announcement& announcement) noexcept {
    request.size = std::min<std::size_t>(request.size, announcement.size);  // P5: never more than posted
    request.sizes[0] = static_cast<int>(request.size);
    request.data_tag = data_tag(remote_port_, announcement.sequence);
    ready_.push(&request);
}

void SendrecvSendComm::ask_for(SendRequest& request, Nanoseconds now) noexcept {
    request.ask_at = now + kAskAgain;
    ofi::MessageHeader header = header_for(ofi::MessageKind::net_want);
    header.word = static_cast<std::uint32_t>(request.tag);
    header.value = request.index;
    ofi_.send_message(*peer_, header, {});
}

// Called before a packet leaves and at every poll while something is left over.
void SendrecvSendComm::flush() noexcept {
    if (failure() != ncclSuccess) return;
    while (!ready_.empty()) {
        SendRequest& request = *ready_.head();
        request.op.complete = &SendrecvSendComm::large_complete;
        request.op.owner = &request;
        const ofi::Posted posted = ofi_.post_tagged_send(*peer_, request.data, request.size,
                                                         request.descriptor, request.data_tag, request.op);
        if (posted == ofi::Posted::lost) return;
        if (posted == ofi::Posted::again) break;
        request.op.posted = true;
        ++at_provider_;
        ready_.pop();
    }
    while (!blocked_.empty() && send_eager(*blocked_.head())) blocked_.pop();
    const bool can_move = !blocked_.empty() && eager_sent_ - eager_consumed_ < credits_;
    if (!ready_.empty() || can_move) ofi_.mark_dirty(*peer_, *this);
}

void SendrecvSendComm::large_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    auto& data = static_cast<DataOperation&>(op);
    data.posted = false;
    if (data.owner == nullptr) return;  // its comm is closed
    SendRequest& request = *static_cast<SendRequest*>(data.owner);
    SendrecvSendComm& self = *request.comm;
    --self.at_provider_;
    --self.peer_->data_in_flight;
    if (completion.error == 0) {
        request.finish();
        return;
    }
    if (self.failure() == ncclSuccess) report_failed(self.ofi_, *self.peer_, request.facts(), completion);
    request.fail_with(ncclRemoteError);
}

void SendrecvSendComm::on_message(const ofi::Message& message) noexcept {
    ++peer_->heard;
    peer_->established = true;
    switch (static_cast<ofi::MessageKind>(message.header.kind)) {
        case ofi::MessageKind::welcome: on_welcome(message); break;
        case ofi::MessageKind::refuse:
            if (stage_ != Stage::asking) break;
            refuse_reason_ = static_cast<ofi::RefuseReason>(message.header.word);
            stage_ = Stage::refused;
            break;
        case ofi::MessageKind::net_announce: on_announcements(message); break;
        case ofi::MessageKind::net_credit: on_credit(message.header.value); break;
        case ofi::MessageKind::net_close: on_remote_close(); break;
        default: (void)one_sided_.on_message(message); break;
    }
}

void SendrecvSendComm::on_announcements(const ofi::Message& message) noexcept {
    for (std::size_t at = 0; at + sizeof(Announcement) <= message.payload.size(); at += sizeof(Announcement)) {
        Announcement a;
        std::memcpy(&a, message.payload.data() + at, sizeof(a));
        if (SendRequest* request = unannounced_.take(a.tag, a.index)) {
            announced(*request, a);
        } else if (!tags_.given(a.tag, a.index) && announcements_.size() < kMaxRecvRequests * 8) {
            announcements_.push_back(a);
        }  // else the message went eagerly: the receiver takes its announcement back
    }
    if (!ready_.empty()) ofi_.mark_dirty(*peer_, *this);
}

void SendrecvSendComm::on_credit(std::uint64_t consumed) noexcept {
    if (consumed > eager_sent_ || consumed < eager_consumed_) return;  // not from a peer of ours
    eager_consumed_ = consumed;
    if (!blocked_.empty()) ofi_.mark_dirty(*peer_, *this);
}

void SendrecvSendComm::on_remote_close() noexcept {
    if (stage_ == Stage::connected) stage_ = Stage::closed_by_peer;
}

void SendrecvSendComm::on_peer_lost() noexcept {
    if (stage_ != Stage::refused) stage_ = Stage::lost;
}

bool SendrecvSendComm::waiting() const noexcept {
    return stage_ == Stage::asking || at_provider_ != 0 || !ready_.empty() || !blocked_.empty() ||
           !unannounced_.empty() || one_sided_.waiting();
}

void SendrecvSendComm::on_tick(Nanoseconds now) noexcept {
    if (!waiting() || stage_ != Stage::connected) return;
    report_stalled(ofi_, *peer_, requests_, now);
    one_sided_.on_tick(now);
}

void SendrecvSendComm::progress(Request& request) {
    const bool pending = request.pending();
    if (!pending && !ofi_.wants_poll()) return;
    const std::scoped_lock lock(ofi_.mutex());
    ofi_.poll();
    if (!pending || unannounced_.empty() || stage_ != Stage::connected) return;
    // A receive that is too small to be announced, or not posted yet: ask now and then.
    const Nanoseconds now = now_ns();
    if (now < next_ask_) return;
    next_ask_ = now + kAskFirst;
    unannounced_.for_each([&](SendRequest& waiting_request) {
        if (now >= waiting_request.ask_at) ask_for(waiting_request, now);
    });
}

void SendrecvSendComm::retire(Request& request) {
    requests_.release(static_cast<SendRequest&>(request));
}

ncclResult_t SendrecvSendComm::failure() const noexcept {
    const Stage stage = stage_.load(std::memory_order_acquire);
    return stage == Stage::connected || stage == Stage::asking ? ncclSuccess : ncclRemoteError;
}

}  // namespace duofi::net
