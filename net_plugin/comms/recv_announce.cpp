// Large receives: posted at the provider, announced to the sender in batches, completed by it.
#include <algorithm>
#include <cstring>

#include "net_plugin/comms/recv_comm.hpp"
#include "net_plugin/comms/transfer_report.hpp"

namespace duofi::net {

void FabricRecvComm::link(RecvEntry& entry) noexcept {
    entry.previous = last_;
    entry.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &entry;
    last_ = &entry;
}

void FabricRecvComm::unlink(RecvEntry& entry) noexcept {
    (entry.previous != nullptr ? entry.previous->next : first_) = entry.next;
    (entry.next != nullptr ? entry.next->previous : last_) = entry.previous;
    if (entry.state == RecvEntry::State::to_post)
        std::erase(announcing_, &entry);
}

// Those that the sender has asked for come first.
void FabricRecvComm::to_announce(RecvEntry& entry) noexcept {
    entry.state = RecvEntry::State::to_post;
    auto place = announcing_.end();
    if (entry.wanted)
        place = std::find_if(announcing_.begin(), announcing_.end(), [](const RecvEntry* e) { return !e->wanted; });
    announcing_.insert(place, &entry);
    ofi_.mark_dirty(*peer_, *this);
}

void FabricRecvComm::on_want(int tag, std::uint32_t index) noexcept {
    announce_ = true;
    if (RecvEntry* entry = find_waiting(tag, index)) {
        if (entry->wanted || entry->state == RecvEntry::State::announced) return;
        entry->wanted = true;
        if (entry->state == RecvEntry::State::to_post) std::erase(announcing_, entry);
        to_announce(*entry);
        return;
    }
    if (tags_.given(tag, index) || wants_.size() >= kMaxSendRequests) return;  // it asks again
    for (const Want& want : wants_)
        if (want.tag == tag && want.index == index) return;
    wants_.push_back({tag, index});
}

bool FabricRecvComm::wanted(int tag, std::uint32_t index) noexcept {
    for (Want& want : wants_) {
        if (want.tag != tag || want.index != index) continue;
        want = wants_.back();
        wants_.pop_back();
        return true;
    }
    return false;
}

// As many of the first as the path takes and as fit into `room` bytes.
std::size_t FabricRecvComm::prepare_some(std::size_t room) noexcept {
    std::size_t bytes = 0;
    for (RecvEntry* entry : announcing_) {
        Announcement a;
        if (bytes + sizeof(a) > room || prepared_.size() == prepared_.capacity() || !large_->prepare(*entry, a)) break;
        a.tag = entry->tag;
        a.index = entry->index;
        a.size = entry->size;
        entry->state = RecvEntry::State::announced;
        bytes += a.bytes();
        prepared_.push_back(a);
    }
    return bytes;
}

void FabricRecvComm::write_announcements() noexcept {
    for (;;) {
        if (prepared_.empty()) {
            prepared_bytes_ = prepare_some(ofi_.max_message_payload(*peer_));
            if (prepared_.empty()) return;
            announcing_.erase(announcing_.begin(), announcing_.begin() + static_cast<std::ptrdiff_t>(prepared_.size()));
        }
        ofi::MessageHeader header = header_for(ofi::MessageKind::net_announce);
        header.length = static_cast<std::uint32_t>(prepared_bytes_);
        std::byte* place = ofi_.reserve(*peer_, header, false);
        if (place == nullptr) return;  // no packet can be had: they stay prepared for the next flush
        for (const Announcement& a : prepared_) {
            std::memcpy(place, &a, a.bytes());
            place += a.bytes();
        }
        prepared_.clear();
    }
}

void FabricRecvComm::write_credit() noexcept {
    if (eager_consumed_ - credit_told_ < kEagerCredits / 2) return;
    ofi::MessageHeader header = header_for(ofi::MessageKind::net_credit);
    header.value = eager_consumed_;
    if (ofi_.reserve(*peer_, header, false) != nullptr) credit_told_ = eager_consumed_;
}

void FabricRecvComm::flush() noexcept {
    if (stage_ != Stage::open) return;
    write_announcements();
    write_credit();
    if (!announcing_.empty() || !prepared_.empty()) ofi_.mark_dirty(*peer_, *this);  // there was no room
}

void FabricRecvComm::operation_posted(RecvEntry& entry) noexcept {
    ++entry.request->at_provider;
    ++at_provider_;
}

void FabricRecvComm::operation_done(RecvRequest& request) noexcept {
    --at_provider_;
    --request.at_provider;
}

void FabricRecvComm::arrived(RecvEntry& entry, std::size_t bytes) noexcept {
    RecvRequest& request = *entry.request;
    give_up(entry);
    request.sizes[&entry - request.entries.data()] = static_cast<int>(std::min(bytes, entry.size));
    --request.missing;
    announce_ = true;
}

void FabricRecvComm::came_back(RecvEntry& entry, const ofi::Completion& completion) noexcept {
    if (entry.state != RecvEntry::State::announced) return;  // matched by an eager message, or given up
    RecvRequest& request = *entry.request;
    give_up(entry);
    if (!request.pending()) return;
    // With another stage it was taken back because the sender has closed, or the peer is lost.
    if (stage_ == Stage::open) report_failed(ofi_, *peer_, entry.facts(), completion);
    request.fail_with(ncclRemoteError);
}

void FabricRecvComm::conclude(RecvRequest& request) noexcept {
    if (request.state.load(std::memory_order_relaxed) == RequestState::free) {  // retired before its operations came back
        if (request.at_provider == 0) requests_.release_late(request);
        return;
    }
    settle(request);  // from here on it is its owner's, who takes no lock to give it back
}

}  // namespace duofi::net
