// irecv and the eager messages it matches. Announcements and large receives: recv_large.cpp; answering a connect
// request and closing: recv_connection.cpp.
#include "net_plugin/comms/recv_comm.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/ofi.hpp"
#include "net_plugin/caller_memory.hpp"
#include "net_plugin/comms/transfer_report.hpp"

namespace duofi::net {

FabricRecvComm::FabricRecvComm(FabricEndpoint& endpoint)
    : RecvComm(endpoint),
      endpoint_(endpoint),
      ofi_(endpoint.ofi()),
      requests_(caller_memory().recv_requests, kMaxRecvRequests),
      large_(make_large_receives(endpoint, *this)),
      one_sided_(ofi_, *this) {
    unexpected_.reserve(kEagerCredits);
    prepared_.reserve(kMostAnnouncedAtOnce);
}

Result<void*> FabricRecvComm::register_memory(void* data, std::size_t size) {
    return endpoint_.register_memory(data, size);
}

Result<Request*> FabricRecvComm::irecv(const RecvBuffer* buffers, int count) {
    void* descriptors[Request::kMaxSizes] = {};
    for (int i = 0; i < count; ++i)
        if (!check_memory(ofi_.domain(), buffers[i].memory, buffers[i].data, buffers[i].size, "irecv",
                          descriptors[i]) ||
            !large_->acceptable(buffers[i]))
            return fail(Errc::invalid_argument, "irecv");
    const std::scoped_lock lock(ofi_.mutex());
    if (failure() != ncclSuccess) return fail(Errc::remote, "irecv");
    std::uint32_t unused = 0;
    for (int i = 0; i < count; ++i) {
        if (tags_.peek(buffers[i].tag, unused)) continue;
        log::warn(log::net, messages::kTooManyTags, "irecv", TagOrder::kMaxTags);
        return fail(Errc::invalid_usage, "irecv");
    }
    RecvRequest* request = requests_.acquire(*this, ofi_.tick_time());
    if (request == nullptr) {
        endpoint_.poll();
        return nullptr;
    }
    request->comm = this;
    request->size_count = count;
    request->missing = count;
    request->at_provider = 0;
    for (int i = 0; i < count; ++i) {
        request->sizes[i] = 0;
        prepare(request->entries[i], *request, buffers[i], descriptors[i]);
    }
    settle(*request);
    if (all_here()) fail_unmatched();
    return request;
}

void FabricRecvComm::prepare(RecvEntry& entry, RecvRequest& request, const RecvBuffer& buffer,
                               void* descriptor) {
    entry.request = &request;
    entry.data = buffer.data;
    entry.size = buffer.size;
    entry.descriptor = descriptor;
    entry.tag = buffer.tag;
    entry.op.posted = false;
    entry.state = RecvEntry::State::waiting;
    (void)tags_.peek(buffer.tag, entry.index);
    tags_.advance(buffer.tag);
    if (take_unexpected(entry)) return;
    large_->hold(entry, buffer);
    link(entry);
    entry.wanted = !wants_.empty() && wanted(entry.tag, entry.index);
    if (entry.wanted || (announce_ && entry.size > eager_limit_)) to_announce(entry);
}

bool FabricRecvComm::take_unexpected(RecvEntry& entry) noexcept {
    for (auto it = unexpected_.begin(); it != unexpected_.end(); ++it) {
        if (it->tag != entry.tag || it->index != entry.index) continue;
        fill(entry, it->data, it->size);
        ofi_.release_packet(it->packet);
        unexpected_.erase(it);
        return true;
    }
    return false;
}

// An eager message has met its receive: cut to the posted size (P5), give the credit back.
void FabricRecvComm::fill(RecvEntry& entry, const std::byte* data, std::size_t size) noexcept {
    const std::size_t bytes = std::min(size, entry.size);
    if (bytes != 0) std::memcpy(entry.data, data, bytes);
    entry.request->sizes[&entry - entry.request->entries.data()] = static_cast<int>(bytes);
    entry.state = RecvEntry::State::idle;
    --entry.request->missing;
    ++eager_consumed_;
    if (eager_consumed_ - credit_told_ >= kEagerCredits / 2) ofi_.mark_dirty(*peer_, *this);
    // Small messages into large buffers: announcing each would be for nothing.
    if (entry.size > eager_limit_) announce_ = false;
}

void FabricRecvComm::settle(RecvRequest& request) noexcept {
    if (request.missing == 0 && request.at_provider == 0 && request.pending()) request.finish();
}

RecvEntry* FabricRecvComm::find_waiting(int tag, std::uint32_t index) noexcept {
    for (RecvEntry* entry = first_; entry != nullptr; entry = entry->next)
        if (entry->tag == tag && entry->index == index) return entry;
    return nullptr;
}

void FabricRecvComm::on_eager(const ofi::Message& message) noexcept {
    const int tag = static_cast<int>(message.header.word);
    const auto index = static_cast<std::uint32_t>(message.header.value);
    ++eager_received_;
    if (RecvEntry* entry = find_waiting(tag, index)) {
        unlink(*entry);
        (void)large_->withdraw(*entry);  // if it was announced, then for nothing
        fill(*entry, message.payload.data(), message.payload.size());
        settle(*entry->request);
    } else if (unexpected_.size() < kEagerCredits) {
        ofi::Endpoint::retain_packet(message.packet);
        unexpected_.push_back({tag, index, message.payload.data(),
                               static_cast<std::uint32_t>(message.payload.size()), message.packet});
    } else {
        log::warn(log::net, messages::kProtocolViolation, ofi_.domain().device().name,
                  ofi_.peer_text(*peer_), "more eager messages than credits");
        stage_ = Stage::violated;
    }
    if (all_here()) fail_unmatched();
}

void FabricRecvComm::on_write(std::uint32_t word, std::size_t bytes) noexcept {
    rails_.heard();
    large_->on_write(word, bytes);
    if (all_here()) fail_unmatched();
}

// The sender has closed, and everything it sent has come.
bool FabricRecvComm::all_here() const noexcept {
    return stage_ == Stage::closed_by_peer && eager_received_ >= sent_by_peer_ && large_->all_here(*large_by_peer_);
}

void FabricRecvComm::on_close(const ofi::MessageHeader& header) noexcept {
    if (stage_ != Stage::open) {
        large_->sender_done(header.word);
        return;
    }
    stage_ = Stage::closed_by_peer;
    sent_by_peer_ = header.value;
    large_by_peer_ = header.word;
    one_sided_.peer_closed();
    if (all_here()) fail_unmatched();
}

void FabricRecvComm::on_message(const ofi::Message& message) noexcept {
    ++peer_->heard;
    peer_->established = true;
    switch (static_cast<ofi::MessageKind>(message.header.kind)) {
        case ofi::MessageKind::net_eager: on_eager(message); break;
        case ofi::MessageKind::net_want:
            on_want(static_cast<int>(message.header.word), static_cast<std::uint32_t>(message.header.value));
            break;
        case ofi::MessageKind::net_close: on_close(message.header); break;
        case ofi::MessageKind::net_closed: large_->sender_done(message.header.word); break;
        default: (void)one_sided_.on_message(message); break;
    }
}

// The sender has closed and everything it sent is here: what is not matched now never will be.
void FabricRecvComm::fail_unmatched() noexcept {
    RecvEntry* next = nullptr;
    for (RecvEntry* entry = first_; entry != nullptr; entry = next) {
        next = entry->next;
        if (large_->withdraw(*entry)) continue;  // fails when it comes back, unless its data comes first
        give_up(*entry);
        if (entry->request->pending()) entry->request->fail_with(ncclRemoteError);
    }
}

Result<Request*> FabricRecvComm::iflush(const RecvBuffer*, int) {
    return nullptr;  // cpu memory is coherent: nothing to flush (net contract 3.6)
}

void FabricRecvComm::on_peer_lost() noexcept {
    if (stage_ == Stage::open) stage_ = Stage::lost;
    // The sender had closed: what it sent over a rail that is lost does not come any more.
    if (stage_ == Stage::closed_by_peer && (rails_.any_lost() || rails_.all_gone()) && !all_here()) stage_ = Stage::lost;
}

bool FabricRecvComm::waiting() const noexcept {
    return first_ != nullptr || at_provider_ != 0 || !answer_left() || one_sided_.waiting();
}

void FabricRecvComm::on_tick(Nanoseconds now) noexcept {
    if (!waiting() || (stage_ != Stage::open && stage_ != Stage::closed_by_peer)) return;
    report_stalled(ofi_, *peer_, requests_, now);
    one_sided_.on_tick(now);
}

void FabricRecvComm::progress(Request& request) {
    if (!request.pending() && !ofi_.wants_poll()) return;
    const std::scoped_lock lock(ofi_.mutex());
    endpoint_.poll();
}

void FabricRecvComm::retire(Request& request) {
    auto& receive = static_cast<RecvRequest&>(request);
    if (request.state.load(std::memory_order_relaxed) == RequestState::done) {
        requests_.release(receive);
        return;
    }
    const std::scoped_lock lock(ofi_.mutex());
    // An entry that still waits belongs to a request that failed: nothing may be matched with it any more.
    for (RecvEntry& entry : receive.entries) {
        if (entry.request != &receive || entry.state == RecvEntry::State::idle) continue;
        if (!large_->withdraw(entry)) give_up(entry);
    }
    if (receive.at_provider == 0)
        requests_.release(receive);
    else
        receive.state.store(RequestState::free);  // large_complete gives it back
}

void FabricRecvComm::give_up(RecvEntry& entry) noexcept {
    unlink(entry);
    entry.state = RecvEntry::State::idle;
}

ncclResult_t FabricRecvComm::failure() const noexcept {
    const Stage stage = stage_.load(std::memory_order_acquire);
    if (stage == Stage::lost) return ncclRemoteError;
    return stage == Stage::violated ? ncclInternalError : ncclSuccess;
}

}  // namespace duofi::net
