// Large receives: posted at the provider, announced to the sender in batches, completed by it.
#include <algorithm>
#include <cstring>

#include "net_plugin/sendrecv/recv_comm.hpp"
#include "net_plugin/sendrecv/transfer_report.hpp"

namespace duofi::net {

void SendrecvRecvComm::link(RecvEntry& entry) noexcept {
    entry.previous = last_;
    entry.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &entry;
    last_ = &entry;
}

void SendrecvRecvComm::unlink(RecvEntry& entry) noexcept {
    (entry.previous != nullptr ? entry.previous->next : first_) = entry.next;
    (entry.next != nullptr ? entry.next->previous : last_) = entry.previous;
    if (entry.state == RecvEntry::State::to_post)
        std::erase(announcing_, &entry);
}

// Those that the sender has asked for come first.
void SendrecvRecvComm::to_announce(RecvEntry& entry) noexcept {
    entry.state = RecvEntry::State::to_post;
    auto place = announcing_.end();
    if (entry.wanted)
        place = std::find_if(announcing_.begin(), announcing_.end(), [](const RecvEntry* e) { return !e->wanted; });
    announcing_.insert(place, &entry);
    ofi_.mark_dirty(*peer_, *this);
}

void SendrecvRecvComm::on_want(int tag, std::uint32_t index) noexcept {
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

bool SendrecvRecvComm::wanted(int tag, std::uint32_t index) noexcept {
    for (Want& want : wants_) {
        if (want.tag != tag || want.index != index) continue;
        want = wants_.back();
        wants_.pop_back();
        return true;
    }
    return false;
}

bool SendrecvRecvComm::post(RecvEntry& entry) noexcept {
    ReceiveBudget& budget = endpoint_.receives();
    if (!budget.take(entry.wanted)) return false;
    entry.sequence = next_sequence_;
    entry.op.complete = &SendrecvRecvComm::large_complete;
    entry.op.owner = &entry;
    entry.op.budget = &budget;
    if (ofi_.post_tagged_receive(*peer_, entry.data, entry.size, entry.descriptor,
                                 data_tag(port_, entry.sequence), entry.op) != ofi::Posted::yes) {
        budget.give_back();
        return false;
    }
    ++next_sequence_;
    entry.op.posted = true;
    entry.state = RecvEntry::State::announced;
    ++entry.request->at_provider;
    ++at_provider_;
    return true;
}

void SendrecvRecvComm::write_announcements() noexcept {
    const std::size_t most = ofi_.max_message_payload(*peer_) / sizeof(Announcement);
    while (!announcing_.empty()) {
        std::size_t posted = 0;
        const std::size_t count = std::min(announcing_.size(), most);
        while (posted < count && post(*announcing_[posted])) ++posted;
        if (posted == 0) return;
        ofi::MessageHeader header = header_for(ofi::MessageKind::net_announce);
        header.length = static_cast<std::uint32_t>(posted * sizeof(Announcement));
        std::byte* place = ofi_.reserve(*peer_, header, false);
        for (std::size_t i = 0; i < posted; ++i) {
            const RecvEntry& entry = *announcing_[i];
            const Announcement a{entry.tag, entry.index, entry.size, entry.sequence, 0};
            if (place != nullptr) std::memcpy(place + i * sizeof(a), &a, sizeof(a));
        }
        announcing_.erase(announcing_.begin(), announcing_.begin() + static_cast<std::ptrdiff_t>(posted));
    }
}

void SendrecvRecvComm::write_credit() noexcept {
    if (eager_consumed_ - credit_told_ < kEagerCredits / 2) return;
    ofi::MessageHeader header = header_for(ofi::MessageKind::net_credit);
    header.value = eager_consumed_;
    if (ofi_.reserve(*peer_, header, false) != nullptr) credit_told_ = eager_consumed_;
}

void SendrecvRecvComm::flush() noexcept {
    if (stage_ != Stage::open) return;
    write_announcements();
    write_credit();
    if (!announcing_.empty()) ofi_.mark_dirty(*peer_, *this);  // there was no room
}

void SendrecvRecvComm::large_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept {
    auto& data = static_cast<ReceiveOperation&>(op);
    data.posted = false;
    data.budget->give_back();
    if (data.owner == nullptr) return;  // its comm is closed
    RecvEntry& entry = *static_cast<RecvEntry*>(data.owner);
    RecvRequest& request = *entry.request;
    SendrecvRecvComm& self = *request.comm;
    --self.at_provider_;
    --request.at_provider;
    const bool matched = entry.state != RecvEntry::State::announced;  // by an eager message, or given up
    if (!matched) {
        self.unlink(entry);
        entry.state = RecvEntry::State::idle;
        if (completion.error == 0) {
            const std::size_t bytes = std::min(completion.length, entry.size);
            request.sizes[&entry - request.entries.data()] = static_cast<int>(bytes);
            --request.missing;
            self.announce_ = true;
        } else if (request.pending()) {
            // With another stage it was taken back because the sender has closed, or the peer is lost.
            if (self.stage_ == Stage::open) report_failed(self.ofi_, *self.peer_, entry.facts(), completion);
            request.fail_with(ncclRemoteError);
        }
    }
    if (request.state.load(std::memory_order_relaxed) == RequestState::free) {  // retired before its operations came back
        if (request.at_provider == 0) self.requests_.release_late(request);
        return;
    }
    self.settle(request);  // from here on it is its owner's, who takes no lock to give it back
}

}  // namespace duofi::net
