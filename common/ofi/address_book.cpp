// Peers of an endpoint: one entry per remote endpoint, counted, inserted into the address vector once (P11).
#include <algorithm>
#include <cstring>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/errors.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi.hpp"

namespace duofi::ofi {

namespace {

constexpr Nanoseconds kUnusedGrace = 10 * kSecond;

}  // namespace

Peer* Endpoint::find_peer(const EndpointName& name) const noexcept {
    for (const auto& peer : peers_)
        if (!peer->gone() && peer->name == name) return peer.get();
    return nullptr;
}

Peer* Endpoint::acquire_peer(const EndpointName& name, Error* reason) {
    if (Peer* known = find_peer(name)) {
        ++known->references;
        known->unused_since = 0;
        return known;
    }
    // An entry of an earlier life of the same address goes first, if nobody holds it any more.
    const auto old = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
        return peer->name == name && peer->references == 0 && peer->in_flight == 0;
    });
    if (old != peers_.end()) remove_peer(**old);
    auto peer = std::make_unique<Peer>();
    peer->name = name;
    const int inserted = fi_av_insert(av_.get(), name.bytes.data(), 1, &peer->address, 0, nullptr);
    if (inserted != 1) {
        log::warn(log::net, messages::kOpenFailed, "fi_av_insert", domain_->device().name,
                  domain_->device().provider, inserted, error_text(inserted));
        if (reason != nullptr) {
            *reason = error_from(inserted, "fi_av_insert");
            if (inserted >= 0 || inserted == -FI_EINVAL) reason->code = Errc::invalid_argument;
        }
        return nullptr;
    }
    peer->references = 1;
    peers_.push_back(std::move(peer));
    return peers_.back().get();
}

// The entry stays: closing a connection under data that is still on its way would lose it. It goes when its
// address comes back to life as somebody else, or with the endpoint.
void Endpoint::release_peer(Peer* peer) noexcept {
    if (peer != nullptr) --peer->references;
}

// Peers that are gone, or that only ever got a refusal, and that nobody holds.
void Endpoint::forget_unused_peers(Nanoseconds now) noexcept {
    for (std::size_t i = 0; i < peers_.size();) {
        Peer& peer = *peers_[i];
        const bool removable = peer.references == 0 && peer.users.empty() && peer.in_flight == 0 &&
                               peer.data_in_flight == 0 && (peer.gone() || !peer.established);
        if (removable && peer.unused_since == 0) peer.unused_since = now;
        if (removable && now - peer.unused_since > kUnusedGrace)
            remove_peer(peer);
        else
            ++i;
    }
}

void Endpoint::remove_peer(Peer& peer) noexcept {
    drop_queued(peer);
    active_.erase(std::remove(active_.begin(), active_.end(), &peer), active_.end());
    const bool shared = std::any_of(peers_.begin(), peers_.end(), [&](const auto& other) {
        return other.get() != &peer && other->address == peer.address;
    });
    if (!shared) fi_av_remove(av_.get(), &peer.address, 1, 0);
    const auto it = std::find_if(peers_.begin(), peers_.end(),
                                 [&](const auto& other) { return other.get() == &peer; });
    if (it != peers_.end()) peers_.erase(it);
}

void Endpoint::remove_user(Peer& peer, PeerUser& user) noexcept {
    peer.users.erase(std::remove(peer.users.begin(), peer.users.end(), &user), peer.users.end());
}

void Endpoint::identify(Peer& peer, const HostIdentity& identity, std::size_t packet_bytes) noexcept {
    peer.identity = identity;
    peer.packet_limit = std::max(packet_bytes, kSmallestPacket);
    peer.established = true;
    peer.process_visible = same_kernel_and_pid_namespace(self_, identity);
}

std::string Endpoint::peer_text(const Peer& peer) const {
    char text[128] = {};
    std::size_t length = sizeof(text);
    fi_av_straddr(av_.get(), peer.name.bytes.data(), text, &length);
    text[sizeof(text) - 1] = '\0';
    return text;
}

void Endpoint::forget_local_peer(const EndpointName& name) noexcept {
    if (find_peer(name) == nullptr) return;
    poll();  // what it sent is in our memory or lost with it; may change the list of peers
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = *peers_[i];
        if (peer.gone() || !(peer.name == name)) continue;
        peer.departed = true;
        drop_queued(peer);
        tell_users(peer);
    }
}

void Endpoint::lose_peer(Peer& peer, const char* evidence) noexcept {
    if (peer.lost) return;
    drop_queued(peer);
    if (peer.departed) return;  // it had closed; nobody waits for it
    peer.lost = true;
    if (said_goodbye_) return;  // nor do we any more
    log_lost(peer, evidence);
    tell_users(peer);
}

void Endpoint::log_lost(const Peer& peer, const char* evidence) const noexcept {
    log::warn(log::net, messages::kPeerLost, domain_->device().name, domain_->device().provider,
              peer_text(peer), peer.identity.pid, evidence);
}

// Over a copy: a user may take itself off the list.
void Endpoint::tell_users(Peer& peer) noexcept {
    const std::vector<PeerUser*> users = peer.users;
    for (PeerUser* user : users) user->on_peer_lost();
}

}  // namespace duofi::ofi
