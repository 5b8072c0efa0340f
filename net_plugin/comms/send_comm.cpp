// isend and its messages. Connecting and closing: send_connection.cpp.
#include "net_plugin/comms/send_comm.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/comms/transfer_report.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kAskFirst = kMillisecond;
constexpr Nanoseconds kAskAgain = 10 * kMillisecond;

}  // namespace

FabricSendComm::FabricSendComm(FabricEndpoint& endpoint)
    : SendComm(endpoint),
      endpoint_(endpoint),
      ofi_(endpoint.ofi()),
      requests_(caller_memory().send_requests, kMaxSendRequests),
      large_(make_large_sends(endpoint, *this)),
      one_sided_(ofi_, *this) {}

Result<void*> FabricSendComm::register_memory(void* data, std::size_t size) {
    return endpoint_.register_memory(data, size);
}

ofi::MessageHeader FabricSendComm::header_for(ofi::MessageKind kind) const noexcept {
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.port = remote_port_;
    return header;
}

// A comm of v4 may be used before the other side has accepted.
Result<bool> FabricSendComm::ready_to_send() {
    if (stage_ == Stage::asking) return continue_connect();
    return true;
}

Result<Request*> FabricSendComm::isend(void* data, std::size_t size, int tag, void* memory) {
    void* descriptor = nullptr;
    if (!check_memory(ofi_.domain(), memory, data, size, "isend", descriptor))
        return fail(Errc::invalid_argument, "isend");
    DUOFI_ASSIGN(const bool ready, ready_to_send());
    if (!ready) return nullptr;
    const std::scoped_lock lock(ofi_.mutex());
    if (ended()) return fail(Errc::remote, "isend");
    std::uint32_t index = 0;
    if (!tags_.peek(tag, index)) {
        log::warn(log::net, messages::kTooManyTags, "isend", TagOrder::kMaxTags);
        return fail(Errc::invalid_usage, "isend");
    }
    SendRequest* request = requests_.acquire(*this, ofi_.tick_time());
    if (request == nullptr) {
        endpoint_.poll();  // a refusal has polled, or it would last for ever (P9)
        return nullptr;
    }
    fill(*request, data, size, tag, index);
    request->descriptor = descriptor;
    tags_.advance(tag);
    if (size <= eager_limit_) {
        if (blocked_.empty() && send_eager(*request)) return request;
        blocked_.push(request);
        ofi_.mark_dirty(*peer_, *this);
        return request;
    }
    large_->hold(*request, static_cast<const MemoryHandle*>(memory));
    start_large(*request);
    return request;
}

void FabricSendComm::fill(SendRequest& request, const void* data, std::size_t size, int tag,
                          std::uint32_t index) noexcept {
    request.comm = this;
    request.data = data;
    request.size = size;
    request.tag = tag;
    request.index = index;
    request.parts = 0;
    request.parts_posted = 0;
    request.at_provider = 0;
    for (DataOperation& op : request.ops) op.posted = false;
    request.size_count = 1;
    request.sizes[0] = static_cast<int>(size);
}

void FabricSendComm::start_large(SendRequest& request) noexcept {
    Announcement announcement;
    if (take_announcement(request.tag, request.index, announcement)) {
        announced(request, announcement);
        if (ready_.head() == &request) {
            ofi_.forget_dirty(*peer_, *this);  // or what flush() sends would call it again
            flush();
        }
    } else {
        unannounced_.push(&request);
        const Nanoseconds now = now_ns();
        request.ask_at = now + kAskFirst;
        if (last_was_eager_) ask_for(request, now);
    }
    last_was_eager_ = false;
}

// The caller's buffer is free again at once: the bytes wait in the packet.
bool FabricSendComm::send_eager(SendRequest& request) noexcept {
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

bool FabricSendComm::take_announcement(int tag, std::uint32_t index, Announcement& out) noexcept {
    for (auto it = announcements_.begin(); it != announcements_.end(); ++it) {
        if (it->tag != tag || it->index != index) continue;
        out = *it;
        announcements_.erase(it);
        return true;
    }
    return false;
}

void FabricSendComm::announced(SendRequest& request, const Announcement& announcement) noexcept {
    request.size = std::min<std::size_t>(request.size, announcement.size);  // P5: never more than posted
    request.sizes[0] = static_cast<int>(request.size);
    request.announcement = announcement;
    if (request.size != 0) {
        ready_.push(&request);
        return;
    }
    large_->release(request);  // nothing of it is left to move: the receiver just has to hear of it
    blocked_.push(&request);
    ofi_.mark_dirty(*peer_, *this);
}

void FabricSendComm::ask_for(SendRequest& request, Nanoseconds now) noexcept {
    request.ask_at = now + kAskAgain;
    ofi::MessageHeader header = header_for(ofi::MessageKind::net_want);
    header.word = static_cast<std::uint32_t>(request.tag);
    header.value = request.index;
    ofi_.send_message(*peer_, header, {});
}

// Called before a packet leaves and at every poll while something is left over.
void FabricSendComm::flush() noexcept {
    if (ended()) return;
    while (!ready_.empty()) {
        if (!ready_.head()->pending()) {  // a part of it has failed
            ready_.pop();
            continue;
        }
        const ofi::Posted taken = large_->post(*ready_.head());
        if (taken == ofi::Posted::lost) {
            if (stage_ == Stage::connected) stage_ = Stage::lost;  // it may be another rail that is gone
            return;
        }
        if (taken == ofi::Posted::again) break;
        ready_.pop();
    }
    while (!blocked_.empty() && send_eager(*blocked_.head())) blocked_.pop();
    const bool can_move = !blocked_.empty() && eager_sent_ - eager_consumed_ < credits_;
    if (!ready_.empty() || can_move) ofi_.mark_dirty(*peer_, *this);
}

DataOperation& FabricSendComm::next_operation(SendRequest& request, std::size_t rail) noexcept {
    DataOperation& op = request.ops[request.parts_posted];
    op.complete = &FabricSendComm::large_complete;
    op.owner = &request;
    op.rail = static_cast<std::uint8_t>(rail);
    return op;
}

void FabricSendComm::posted(SendRequest& request) noexcept {
    request.ops[request.parts_posted++].posted = true;
    ++parts_sent_;
    ++request.at_provider;
    ++at_provider_;
}

void FabricSendComm::large_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    auto& data = static_cast<DataOperation&>(op);
    data.posted = false;
    if (data.owner == nullptr) return;  // its comm is closed
    SendRequest& request = *static_cast<SendRequest*>(data.owner);
    FabricSendComm& self = *request.comm;
    const Rail& rail = self.rails_[data.rail];
    --self.at_provider_;
    --request.at_provider;
    --rail.peer->data_in_flight;
    if (completion.error != 0 && request.pending()) {
        if (!self.ended()) report_failed(*rail.endpoint, *rail.peer, request.facts(), completion);
        request.fail_with(ncclRemoteError);
    }
    if (completion.error != 0) --self.parts_sent_;
    if (self.answer_owed_ && self.at_provider_ == 0) self.answer_close();
    if (request.at_provider != 0 || request.parts_posted != request.parts) return;
    self.large_->release(request);
    if (request.state.load(std::memory_order_relaxed) == RequestState::free) {  // retired before its operations came back
        self.requests_.release_late(request);
    } else if (request.pending()) {
        request.finish();
    }
}

void FabricSendComm::on_message(const ofi::Message& message) noexcept {
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

void FabricSendComm::on_announcements(const ofi::Message& message) noexcept {
    const std::span<const std::byte> bytes = message.payload;
    for (std::size_t at = 0; at + Announcement::kHead <= bytes.size();) {
        Announcement a;
        std::memcpy(static_cast<void*>(&a), bytes.data() + at, Announcement::kHead);
        if (a.targets > a.target.size() || a.bytes() > bytes.size() - at) return;
        std::memcpy(&a.target, bytes.data() + at + Announcement::kHead, a.bytes() - Announcement::kHead);
        at += a.bytes();
        const std::size_t rails = endpoint_.data_path() == ofi::DataPath::written ? rails_.count() : 0;
        if (a.size != 0 && a.targets != rails) {
            log::warn(log::net, messages::kProtocolViolation, ofi_.domain().device().name, ofi_.peer_text(*peer_),
                      "a receive is announced for other rails");
            if (stage_ != Stage::refused) stage_ = Stage::lost;
            return;
        }
        if (SendRequest* request = unannounced_.take(a.tag, a.index)) {
            announced(*request, a);
        } else if (!tags_.given(a.tag, a.index) && announcements_.size() < kMaxRecvRequests * 8) {
            announcements_.push_back(a);
        }  // else the message went eagerly: the receiver takes its announcement back
    }
    if (!ready_.empty()) ofi_.mark_dirty(*peer_, *this);
}

void FabricSendComm::on_credit(std::uint64_t consumed) noexcept {
    if (consumed > eager_sent_ || consumed < eager_consumed_) return;  // not from a peer of ours
    eager_consumed_ = consumed;
    if (!blocked_.empty()) ofi_.mark_dirty(*peer_, *this);
}

void FabricSendComm::on_remote_close() noexcept {
    // Also while other rails are still being reached: the next look finds a comm that is up and closed.
    if (stage_ == Stage::connected || stage_ == Stage::asking) stage_ = Stage::closed_by_peer;
    fail_unsent();
    one_sided_.peer_closed();
    answer_owed_ = endpoint_.data_path() == ofi::DataPath::written;
    if (answer_owed_ && at_provider_ == 0) answer_close();
}

void FabricSendComm::fail_unsent() noexcept {
    for (SendQueue* queue : {&blocked_, &unannounced_, &ready_})
        while (!queue->empty()) queue->pop()->fail_with(ncclRemoteError);
}

// What the provider has is done: the receiver may do as it likes with its memory.
void FabricSendComm::answer_close() noexcept {
    answer_owed_ = false;
    ofi::MessageHeader header = header_for(ofi::MessageKind::net_closed);
    header.word = parts_sent_;
    ofi_.send_message(*peer_, header, {});
}

void FabricSendComm::on_peer_lost() noexcept {
    if (stage_ != Stage::refused) stage_ = Stage::lost;
}

bool FabricSendComm::waiting() const noexcept {
    return stage_ == Stage::asking || at_provider_ != 0 || !ready_.empty() || !blocked_.empty() ||
           !unannounced_.empty() || one_sided_.waiting();
}

void FabricSendComm::on_tick(Nanoseconds now) noexcept {
    if (!waiting() || stage_ != Stage::connected) return;
    report_stalled(ofi_, *peer_, requests_, now);
    one_sided_.on_tick(now);
}

void FabricSendComm::progress(Request& request) {
    const bool pending = request.pending();
    if (!pending && !ofi_.wants_poll()) return;
    const std::scoped_lock lock(ofi_.mutex());
    endpoint_.poll();
    if (!pending || unannounced_.empty() || stage_ != Stage::connected) return;
    // A receive that is too small to be announced, or not posted yet: ask now and then.
    const Nanoseconds now = now_ns();
    if (now < next_ask_) return;
    next_ask_ = now + kAskFirst;
    unannounced_.for_each([&](SendRequest& waiting_request) {
        if (now >= waiting_request.ask_at) ask_for(waiting_request, now);
    });
}

void FabricSendComm::retire(Request& request) {
    auto& send = static_cast<SendRequest&>(request);
    if (request.state.load(std::memory_order_relaxed) == RequestState::done) {
        requests_.release(send);
        return;
    }
    const std::scoped_lock lock(ofi_.mutex());
    if (ready_.head() == &send) ready_.pop();  // parts of it had left
    send.parts = send.parts_posted;
    if (send.at_provider == 0) {
        large_->release(send);
        requests_.release(send);
    } else {
        send.state.store(RequestState::free);  // large_complete gives it back
    }
}

bool FabricSendComm::ended() const noexcept {
    const Stage stage = stage_.load(std::memory_order_acquire);
    return stage != Stage::connected && stage != Stage::asking;
}

// What the provider has when the receiver closes is waited for: it may have arrived.
ncclResult_t FabricSendComm::failure() const noexcept {
    const Stage stage = stage_.load(std::memory_order_acquire);
    return stage == Stage::lost || stage == Stage::refused ? ncclRemoteError : ncclSuccess;
}

}  // namespace duofi::net
