#include "net_plugin/rdma/late_writes.hpp"

namespace duofi::net {

LateWrites::LateWrites(FabricEndpoint& endpoint, ofi::Peer& peer, std::uint32_t port, std::uint32_t writes,
                       std::optional<std::uint32_t> sent)
    : endpoint_(endpoint.ofi()), peer_(peer), port_(port), writes_(writes), sent_(sent) {
    for (std::size_t i = 0; i < endpoint.rail_count(); ++i)
        domains_.push_back(endpoint.rail(i).domain().shared_from_this());
}

void LateWrites::start() noexcept {
    endpoint_.ports().hand_over(port_, this);
    ++peer_.references;
    endpoint_.add_user(peer_, *this);
}

void LateWrites::on_message(const ofi::Message& message) noexcept {
    ++peer_.heard;
    const auto kind = static_cast<ofi::MessageKind>(message.header.kind);
    if (kind != ofi::MessageKind::net_close && kind != ofi::MessageKind::net_closed) return;
    sent_ = message.header.word;
    if (static_cast<std::int32_t>(writes_ - *sent_) >= 0) finish();
}

void LateWrites::on_write(std::uint32_t, std::size_t) noexcept {
    ++writes_;
    if (sent_ && static_cast<std::int32_t>(writes_ - *sent_) >= 0) finish();
}

void LateWrites::finish() noexcept {
    if (finished_) return;
    finished_ = true;
    endpoint_.remove_user(peer_, *this);
    endpoint_.ports().close(port_);
    release();
    endpoint_.release_peer(&peer_);
    endpoint_.disown(*this);
}

void LateWrites::release() noexcept {
    for (HeldMemory& memory : held_) memory.release();
    held_.clear();
}

}  // namespace duofi::net
