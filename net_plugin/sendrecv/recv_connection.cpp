// Answering a connect request and closing of a receive comm.
#include <algorithm>
#include <memory>
#include <mutex>

#include "net_plugin/sendrecv/late_receives.hpp"
#include "net_plugin/sendrecv/recv_comm.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kCloseLimit = 300 * kMillisecond;

}  // namespace

ofi::MessageHeader SendrecvRecvComm::header_for(ofi::MessageKind kind) const noexcept {
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.port = remote_port_;
    return header;
}

bool SendrecvRecvComm::answer(const ofi::Hello& hello) {
    ofi::Peer* peer = ofi_.acquire_peer(hello.name);
    if (peer == nullptr) return false;
    const std::uint32_t port = ofi_.ports().open(this);
    if (port == 0) {
        ofi_.release_peer(peer);
        return false;
    }
    peer_ = peer;
    port_ = port;
    remote_port_ = hello.port;
    one_sided_.join(*peer_, remote_port_);
    const auto own_limit = static_cast<std::uint32_t>(std::max(ofi_.domain().settings().eager_max_size, 0));
    ofi::Welcome welcome;
    welcome.port = port_;
    welcome.eager_limit = std::min({hello.eager_limit, own_limit, hello.packet_bytes});
    welcome.packet_bytes = static_cast<std::uint32_t>(ofi_.packet_bytes());
    welcome.credits = kEagerCredits;
    welcome.nonce = hello.nonce;
    welcome.identity = ofi_.identity();
    eager_limit_ = welcome.eager_limit;
    std::byte bytes[ofi::kMaxHandshakeBytes];
    const std::size_t length = ofi::write_welcome(bytes, welcome);
    ofi_.add_user(*peer_, *this);
    ofi_.identify(*peer_, hello.identity, hello.packet_bytes);
    ofi_.send_message(*peer_, header_for(ofi::MessageKind::welcome), std::span(bytes, length));
    return true;
}

// Receives that the provider holds: taken back, so that nothing is written into the caller's memory later. A
// transfer that is already under way gets the limit to finish.
void SendrecvRecvComm::cancel_posted(Nanoseconds limit) noexcept {
    if (at_provider_ == 0) return;
    requests_.for_each_slot([&](RecvRequest& request) {
        for (RecvEntry& entry : request.entries)
            if (entry.op.posted) ofi_.cancel(entry.op);
    });
    const Deadline deadline(limit);
    do ofi_.poll();
    while (at_provider_ != 0 && !deadline.passed());
    if (at_provider_ == 0) return;
    requests_.for_each_slot([](RecvRequest& request) {
        for (RecvEntry& entry : request.entries)
            if (entry.op.posted) entry.op.owner = nullptr;
    });
    requests_.keep_memory();
}

// A lock that fails leaves the comm where it is, as in SendrecvSendComm::close.
void SendrecvRecvComm::close() {
    {
        const std::scoped_lock lock(ofi_.mutex());
        tear_down();
    }
    delete this;
}

void SendrecvRecvComm::tear_down() {
    const bool sender_may_send = stage_ == Stage::open && !peer_->gone();
    stage_ = Stage::closed_by_peer;  // what completes from now on is nobody's failure
    auto late = std::make_unique<LateReceives>(endpoint_, *peer_, port_);
    for (RecvEntry* entry = first_; entry != nullptr; entry = entry->next)
        if (entry->op.posted) late->expect(data_tag(port_, entry->sequence), entry->size);
    for (const Unexpected& u : unexpected_) ofi_.release_packet(u.packet);
    unexpected_.clear();
    announcing_.clear();
    if (sender_may_send) ofi_.send_message(*peer_, header_for(ofi::MessageKind::net_close), {});
    cancel_posted(peer_->gone() ? 0 : kCloseLimit);
    one_sided_.close(peer_->gone() ? 0 : kCloseLimit);
    ofi_.forget_dirty(*peer_, *this);
    ofi_.remove_user(*peer_, *this);
    if (sender_may_send && !peer_->gone() && !late->empty()) {
        LateReceives& kept = *late;
        ofi_.adopt(std::move(late));
        kept.start();
    } else {
        ofi_.ports().close(port_);
    }
    ofi_.release_peer(peer_);
}

}  // namespace duofi::net
