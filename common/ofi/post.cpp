// Sending of messages: staged behind what is in flight, queued in order per peer, posted when the provider
// takes them (P9: a refusal clears only if the queue is polled).
#include <cstring>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/errors.hpp"

namespace duofi::ofi {

std::byte* Endpoint::reserve(Peer& peer, const MessageHeader& header, bool bounded) noexcept {
    if (peer.gone()) return nullptr;
    const std::size_t bytes = message_bytes(header.length);
    if (bytes > packet_limit(peer)) return nullptr;
    if (peer.staged != nullptr && peer.staged->used + bytes > packet_limit(peer)) {
        enqueue_staged(peer);
        post_queued(peer);
        if (peer.gone()) return nullptr;
    }
    if (peer.staged == nullptr) {
        if (bounded && peer.queued >= kMaxQueuedPackets) return nullptr;
        peer.staged = tx_pool_.acquire();
        if (peer.staged == nullptr) return nullptr;
        peer.staged->op.complete = &Endpoint::tx_complete;
        peer.staged->used = 0;
        peer.staged->peer = &peer;
    }
    std::byte* place = peer.staged->data + peer.staged->used;
    std::memcpy(place, &header, sizeof(header));
    if (header.length % 8 != 0) std::memset(place + bytes - 8, 0, 8);  // padding shows no old bytes
    peer.staged->used += bytes;
    return place + sizeof(header);
}

void Endpoint::commit(Peer& peer) noexcept {
    if (peer.in_flush) return;
    if (peer.in_flight != 0 || peer.queue_head != nullptr) {
        activate(peer);
        return;
    }
    if (peer.dirty != nullptr) flush_dirty(peer);
    enqueue_staged(peer);
    post_queued(peer);
    if (!peer.idle()) activate(peer);
}

bool Endpoint::send_message(Peer& peer, const MessageHeader& header,
                            std::span<const std::byte> payload) noexcept {
    MessageHeader sized = header;
    sized.length = static_cast<std::uint32_t>(payload.size());
    std::byte* place = reserve(peer, sized, false);
    if (place == nullptr) return false;
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    commit(peer);
    return true;
}

void Endpoint::mark_dirty(Peer& peer, Flushable& flushable) noexcept {
    if (!flushable.dirty_) {
        flushable.dirty_ = true;
        flushable.next_dirty_ = peer.dirty;
        peer.dirty = &flushable;
    }
    activate(peer);
}

void Endpoint::forget_dirty(Peer& peer, Flushable& flushable) noexcept {
    if (!flushable.dirty_) return;
    for (Flushable** head : {&peer.dirty, &peer.flushing})
        for (Flushable** link = head; *link != nullptr; link = &(*link)->next_dirty_) {
            if (*link != &flushable) continue;
            *link = flushable.next_dirty_;
            flushable.dirty_ = false;
            return;
        }
}

void Endpoint::activate(Peer& peer) noexcept {
    wants_poll_.store(true, std::memory_order_relaxed);
    if (peer.active) return;
    peer.active = true;
    active_.push_back(&peer);
}

// One at a time: a flush may lose the peer, and with it end others of the list. What is marked again meanwhile
// waits for the next round.
void Endpoint::flush_dirty(Peer& peer) noexcept {
    Flushable** tail = &peer.flushing;
    while (*tail != nullptr) tail = &(*tail)->next_dirty_;
    *tail = peer.dirty;
    peer.dirty = nullptr;
    peer.in_flush = true;
    while (peer.flushing != nullptr) {
        Flushable* flushable = peer.flushing;
        peer.flushing = flushable->next_dirty_;
        flushable->dirty_ = false;
        flushable->flush();
    }
    peer.in_flush = false;
}

void Endpoint::serve(Peer& peer) noexcept {
    if (peer.dirty != nullptr) flush_dirty(peer);
    if (peer.staged != nullptr) enqueue_staged(peer);
    if (peer.queue_head != nullptr) post_queued(peer);
}

void Endpoint::enqueue_staged(Peer& peer) noexcept {
    TxPacket* packet = peer.staged;
    if (packet == nullptr) return;
    peer.staged = nullptr;
    (peer.queue_tail != nullptr ? peer.queue_tail->next : peer.queue_head) = packet;
    peer.queue_tail = packet;
    ++peer.queued;
}

void Endpoint::post_queued(Peer& peer) noexcept {
    while (peer.queue_head != nullptr && peer.in_flight < kMaxInFlight) {
        TxPacket* packet = peer.queue_head;
        const ssize_t code = post([&] {
            return fi_send(ep_.get(), packet->data, packet->used, packet->descriptor, peer.address, &packet->op.context);
        });
        if (code == -FI_EAGAIN) {
            if (peer.blocked_since == 0) peer.blocked_since = now_ns();
            return;
        }
        if (code != 0) {
            lose_peer(peer, error_text(code));
            return;
        }
        peer.blocked_since = 0;
        peer.queue_head = packet->next;
        if (peer.queue_head == nullptr) peer.queue_tail = nullptr;
        packet->next = nullptr;
        --peer.queued;
        ++peer.in_flight;
    }
}

void Endpoint::drop_queued(Peer& peer) noexcept {
    enqueue_staged(peer);
    while (peer.queue_head != nullptr) {
        TxPacket* packet = peer.queue_head;
        peer.queue_head = packet->next;
        tx_pool_.release(packet);
    }
    peer.queue_tail = nullptr;
    peer.queued = 0;
    while (peer.dirty != nullptr) forget_dirty(peer, *peer.dirty);
    while (peer.flushing != nullptr) forget_dirty(peer, *peer.flushing);
}

void Endpoint::tx_complete(Operation& op, const Completion& completion) noexcept {
    auto& packet = reinterpret_cast<TxPacket&>(op);
    Endpoint& self = *packet.endpoint;
    Peer& peer = *packet.peer;
    --peer.in_flight;
    self.tx_pool_.release(&packet);
    if (completion.error != 0 && !self.closing_) self.lose_peer(peer, error_text(completion.error));
}

}  // namespace duofi::ofi
