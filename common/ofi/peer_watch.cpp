// Is the other side still there? Death needs evidence (architecture 4.8): a process of this node that is
// gone, a message that cannot be posted any more, an error completion; silence only if the user says so.
#include <algorithm>
#include <cstring>

#include "common/ofi/endpoint.hpp"

namespace duofi::ofi {

namespace {

constexpr Nanoseconds kProcessInterval = 300 * kMillisecond;  // three system calls for each peer
constexpr Nanoseconds kExitGrace = 150 * kMillisecond;  // what it sent before it died still arrives
constexpr Nanoseconds kSilenceBeforeProbe = kSecond;
constexpr Nanoseconds kProbeInterval = kSecond;
constexpr Nanoseconds kShortestTimeout = 3 * kSecond;  // one that is asked whether it lives has time to answer
constexpr Nanoseconds kUnreachable = 4 * kSecond;
constexpr Nanoseconds kDepartedGrace = kSecond;

}  // namespace

bool Endpoint::owes_progress() const noexcept {
    if (!active_.empty() || posted_ < receive_target_ / 2) return true;
    for (const auto& peer : peers_) {
        if (peer->lost) continue;
        if (peer->in_flight != 0 || peer->data_in_flight != 0) return true;
        for (const PeerUser* user : peer->users)
            if (user->waiting()) return true;
    }
    return false;
}

void Endpoint::tick(Nanoseconds now) noexcept {
    tick_time_.store(now, std::memory_order_relaxed);
    forget_unused_peers(now);
    for (std::size_t i = 0; i < peers_.size(); ++i) {  // a user may add peers, never removes them
        Peer& peer = *peers_[i];
        if (peer.lost) continue;
        if (peer.departed) {
            if (peer.blocked_since != 0 && now - peer.blocked_since > kDepartedGrace) drop_queued(peer);
            continue;
        }
        for (std::size_t u = 0; u < peer.users.size(); ++u) peer.users[u]->on_tick(now);
        if (peer.users.empty()) continue;
        if (peer.process_visible) watch_process(peer, now);
        if (!peer.lost) watch_silence(peer, now);
    }
}

void Endpoint::watch_process(Peer& peer, Nanoseconds now) noexcept {
    if (peer.exited_at == 0) {
        if (peer.heard != peer.heard_at_tick) return;  // it spoke since the last look
        if (now - peer.process_seen_at < kProcessInterval) return;
        peer.process_seen_at = now;
        if (process_gone(peer.identity, self_)) {
            peer.exited_at = now;
            peer.heard_at_tick = peer.heard;
        }
        return;
    }
    if (peer.heard != peer.heard_at_tick) {  // its last words are still coming in
        peer.heard_at_tick = peer.heard;
        peer.exited_at = now;
    } else if (now - peer.exited_at >= kExitGrace) {
        lose_peer(peer, "its process is gone");
    }
}

void Endpoint::watch_silence(Peer& peer, Nanoseconds now) noexcept {
    if (peer.exited_at != 0) return;
    bool waiting = false;
    for (const PeerUser* user : peer.users) waiting = waiting || user->waiting();
    if (!waiting || peer.heard != peer.heard_at_tick || peer.silent_since == 0) {
        peer.heard_at_tick = peer.heard;
        peer.silent_since = now;
        return;
    }
    const Nanoseconds silent = now - peer.silent_since;
    // A process that we can see alive is not called dead because it does not take messages: it may be stopped.
    if (peer.established && !peer.process_visible && silent >= kUnreachable &&
        peer.blocked_since != 0 && now - peer.blocked_since >= kUnreachable)
        watch_blocked(peer, now);
    if (peer.lost) return;
    const auto timeout = static_cast<Nanoseconds>(domain_->settings().peer_timeout_s * kSecond);
    if (peer.established && timeout > 0 && silent >= std::max(timeout, kShortestTimeout)) {
        lose_peer(peer, "silent longer than DUOFI_PEER_TIMEOUT");
        return;
    }
    if (silent < kSilenceBeforeProbe || now - peer.probed_at < kProbeInterval) return;
    if (!peer.idle() || peer.in_flight != 0) return;
    peer.probed_at = now;
    probe(peer);
}

// It takes nothing and says nothing. Stopped and dead look the same to the provider, not to the kernel of its node.
void Endpoint::watch_blocked(Peer& peer, Nanoseconds now) noexcept {
    if (peer.knocked_at != 0 && now - peer.knocked_at < kUnreachable) return;
    const Door door = peer.knock.ask(peer.name, now);
    if (door == Door::refused)
        lose_peer(peer, "nobody listens at its address any more");
    else if (door == Door::none)
        lose_peer(peer, "nothing can be sent to it any more");
    else if (door != Door::unknown)
        peer.knocked_at = now;
}

}  // namespace duofi::ofi
