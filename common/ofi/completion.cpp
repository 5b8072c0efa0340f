// Receiving of packets: parsing, delivery to ports, and the few messages the endpoint answers itself.
#include <cstdlib>
#include <cstring>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/errors.hpp"
#include "common/ofi/handshake.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::ofi {

void Endpoint::post_receive(RxPacket* packet) noexcept {
    packet->references = 0;
    ++posted_;
    const ssize_t code = take_in([&] {
        return fi_recv(ep_.get(), packet->data, packet_bytes_, packet->descriptor, FI_ADDR_UNSPEC, &packet->op.context);
    });
    if (code == 0) return;
    --posted_;
    packet->next = unposted_;
    unposted_ = packet;
    ++waiting_to_post_;
}

void Endpoint::post_waiting() noexcept {
    while (unposted_ != nullptr) {
        RxPacket* packet = unposted_;
        unposted_ = packet->next;
        packet->next = nullptr;
        --waiting_to_post_;
        post_receive(packet);
        if (unposted_ == packet) return;  // refused, the next poll tries again
    }
}

void Endpoint::rx_complete(Operation& op, const Completion& completion) noexcept {
    auto& packet = reinterpret_cast<RxPacket&>(op);
    Endpoint& self = *packet.endpoint;
    --self.posted_;
    if (self.closing_) return;
    if (completion.error != 0) {
        self.post_receive(&packet);
        self.lose_message(completion.error);
        return;
    }
    self.on_packet(&packet, completion.length);
}

// A connection that ends takes the rest of its last message along; the watch finds that peer. Anything else has cost a
// message of nobody knows which peer, and each of them might wait for it for ever: both sides give up what they have with
// each other. The peers live, so they are told.
void Endpoint::lose_message(int error) noexcept {
    log::trace(log::net, "NET/OFI receive packet failed: {}", error_text(error));
    if (std::abs(error) == FI_ECANCELED || errc_of(error) == Errc::remote || said_goodbye_) return;
    for (std::size_t i = 0; i < peers_.size(); ++i) {  // users may add some
        Peer& peer = *peers_[i];
        if (peer.gone()) continue;
        log_lost(peer, messages::kMessageLost);
        send_own_name(peer, MessageKind::goodbye);
        (lead_ == this ? peer.departed : peer.lost) = true;  // that another rail is closed would be no news
        tell_users(peer);
    }
}

void Endpoint::on_packet(RxPacket* packet, std::size_t length) noexcept {
    packet->references = 1;
    std::size_t at = 0;
    while (at + sizeof(MessageHeader) <= length) {
        Message message;
        message.packet = packet;
        std::memcpy(&message.header, packet->data + at, sizeof(MessageHeader));
        at += sizeof(MessageHeader);
        if (message.header.length > length - at) break;
        message.payload = {packet->data + at, message.header.length};
        at += padded(message.header.length);
        if (message.header.port == 0) {
            on_endpoint_message(message);
        } else if (PortOwner* owner = ports_.find(message.header.port)) {
            owner->on_message(message);
        } else {
            answer_unknown_port(message);
        }
    }
    if (packet->references > 1) {  // kept by a message without a receive: another one takes its place
        if (RxPacket* replacement = rx_pool_.acquire()) {
            replacement->op.complete = &Endpoint::rx_complete;
            post_receive(replacement);
        }
    }
    release_packet(packet);
}

void Endpoint::release_packet(RxPacket* packet) noexcept {
    if (--packet->references != 0) return;
    if (posted_ + waiting_to_post_ >= receive_target_) {
        rx_pool_.release(packet);
        return;
    }
    // Not now: the caller is about to see its message. The next poll posts it, while it waits for another.
    packet->next = unposted_;
    unposted_ = packet;
    ++waiting_to_post_;
}

void Endpoint::on_endpoint_message(const Message& message) noexcept {
    EndpointName name;
    if (message.payload.size() != sizeof(EndpointName)) return;
    std::memcpy(&name, message.payload.data(), sizeof(name));
    Peer* peer = find_peer(name);
    if (peer == nullptr) return;  // nobody we talk to
    ++peer->heard;
    peer->established = true;
    switch (static_cast<MessageKind>(message.header.kind)) {
        case MessageKind::probe: send_own_name(*peer, MessageKind::probe_reply); break;
        case MessageKind::goodbye:
            // It waits for the answer, unless it has our own goodbye: then it may be gone already.
            if (!said_goodbye_) send_own_name(*peer, MessageKind::goodbye_reply);
            peer->departed = true;  // what is queued still leaves, nothing new is taken
            tell_users(*peer);      // comms that it did not close itself
            break;
        case MessageKind::goodbye_reply: peer->answered_goodbye = true; break;
        default: break;
    }
}

// A connect request for a listen comm that is closed, or of another life of this address: say so, or the
// other side would wait for its deadline. Everything else is late traffic for a closed comm.
void Endpoint::answer_unknown_port(const Message& message) noexcept {
    if (static_cast<MessageKind>(message.header.kind) != MessageKind::hello) return;
    const auto hello = parse_hello(message.payload);
    if (!hello) return;
    Peer* peer = acquire_peer(hello->name);
    if (peer == nullptr) return;
    refuse(*this, *peer, hello->port, RefuseReason::not_listening);
    release_peer(peer);
}

bool Endpoint::send_own_name(Peer& peer, MessageKind kind) noexcept {
    MessageHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    return send_message(peer, header, std::as_bytes(std::span(&name_, 1)));
}

}  // namespace duofi::ofi
