#include "net_plugin/comms/abandoned_attempt.hpp"

#include <memory>
#include <new>

#include "common/ofi/handshake.hpp"

namespace duofi::net {

void AbandonedAttempt::leave(ofi::Endpoint& endpoint, ofi::Peer& peer, std::uint32_t port) noexcept {
    std::unique_ptr<AbandonedAttempt> self(new (std::nothrow) AbandonedAttempt(endpoint, peer, port));
    if (self == nullptr) {
        endpoint.ports().close(port);
        return;
    }
    AbandonedAttempt& attempt = *self;
    endpoint.adopt(std::move(self));
    endpoint.ports().hand_over(port, &attempt);
    endpoint.add_user(peer, attempt);
    ++peer.references;
}

void AbandonedAttempt::on_message(const ofi::Message& message) noexcept {
    if (static_cast<ofi::MessageKind>(message.header.kind) == ofi::MessageKind::welcome) {
        if (const auto welcome = ofi::parse_welcome(message.payload)) {
            ofi::MessageHeader header;
            header.kind = static_cast<std::uint16_t>(ofi::MessageKind::net_close);
            header.port = welcome->port;
            endpoint_.send_message(peer_, header, {});
        }
    }
    finish();
}

void AbandonedAttempt::finish() noexcept {
    endpoint_.remove_user(peer_, *this);
    endpoint_.ports().close(port_);
    endpoint_.release_peer(&peer_);
    endpoint_.disown(*this);
}

}  // namespace duofi::net
