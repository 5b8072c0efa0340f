// Answering a connect request and closing of a receive comm.
#include <algorithm>
#include <memory>
#include <mutex>

#include "net_plugin/comms/recv_comm.hpp"

namespace duofi::net {

namespace {

constexpr Nanoseconds kCloseLimit = 300 * kMillisecond;

}  // namespace

ofi::MessageHeader FabricRecvComm::header_for(ofi::MessageKind kind) const noexcept {
    ofi::MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.port = remote_port_;
    return header;
}

bool FabricRecvComm::answer(const ofi::Hello& hello) {
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
    const ofi::RailNames own = endpoint_.rail_names(hello.rails.count);
    ofi::RailNames theirs = hello.rails;
    theirs.count = own.count;
    if (!rails_.join(endpoint_, *peer_, theirs, hello.identity, hello.packet_bytes)) {
        rails_.leave();
        ofi_.ports().close(port_);
        ofi::refuse(ofi_, *peer_, hello.port, ofi::RefuseReason::wrong_rails);
        ofi_.release_peer(peer_);
        return false;
    }
    one_sided_.join(*peer_, remote_port_);
    const auto own_limit = static_cast<std::uint32_t>(std::max(ofi_.domain().settings().eager_max_size, 0));
    ofi::Welcome welcome;
    welcome.port = port_;
    welcome.eager_limit = std::min({hello.eager_limit, own_limit, hello.packet_bytes});
    welcome.packet_bytes = static_cast<std::uint32_t>(ofi_.packet_bytes());
    welcome.credits = kEagerCredits;
    welcome.nonce = hello.nonce;
    welcome.identity = ofi_.identity();
    welcome.rails = own;
    eager_limit_ = welcome.eager_limit;
    std::byte bytes[ofi::kMaxHandshakeBytes];
    const std::size_t length = ofi::write_welcome(bytes, welcome);
    ofi_.add_user(*peer_, *this);
    ofi_.identify(*peer_, hello.identity, hello.packet_bytes);
    ofi_.send_message(*peer_, header_for(ofi::MessageKind::welcome), std::span(bytes, length));
    return true;
}

// A lock that fails leaves the comm where it is, as in FabricSendComm::close.
void FabricRecvComm::close() {
    {
        const std::scoped_lock lock(ofi_.mutex());
        tear_down();
    }
    delete this;
}

void FabricRecvComm::tear_down() {
    const bool sender_may_send = !large_by_peer_ && !peer_->gone();  // it has not closed
    stage_ = Stage::closing;  // what completes from now on is nobody's failure
    for (const Unexpected& u : unexpected_) ofi_.release_packet(u.packet);
    unexpected_.clear();
    announcing_.clear();
    if (sender_may_send) ofi_.send_message(*peer_, header_for(ofi::MessageKind::net_close), {});
    one_sided_.close(peer_->gone() ? 0 : kCloseLimit);
    if (large_by_peer_) large_->sender_done(*large_by_peer_);
    std::unique_ptr<LateTraffic> late = large_->close(first_, sender_may_send, rails_.all_gone() ? 0 : kCloseLimit);
    ofi_.forget_dirty(*peer_, *this);
    rails_.leave();
    ofi_.remove_user(*peer_, *this);
    if (late != nullptr && !peer_->gone()) {
        LateTraffic& kept = *late;
        ofi_.adopt(std::move(late));
        kept.start();
    } else {
        ofi_.ports().close(port_);
    }
    ofi_.release_peer(peer_);
}

}  // namespace duofi::net
