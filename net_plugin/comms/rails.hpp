// The endpoints that a comm moves large messages over, and its peer's on each of them. Messages use the first. Guarded by
// the lock that they share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"

namespace duofi::net {

class FabricEndpoint;

struct Rail {
    ofi::Endpoint* endpoint = nullptr;
    ofi::Peer* peer = nullptr;
};

/// A comm as user of its peer's endpoints behind the first. That one of them is closed is no news: it may be so before what
/// came over the others is here, and the first one tells what became of the connection.
class RailUser : public ofi::PeerUser {
  public:
    explicit RailUser(ofi::PeerUser& comm) : comm_(comm) {}
    void follow(const ofi::Peer& peer, const ofi::Peer& first) noexcept { peer_ = &peer, first_ = &first; }

  private:
    void on_peer_lost() noexcept override {
        if (peer_->lost || first_->gone()) comm_.on_peer_lost();
    }
    [[nodiscard]] bool waiting() const noexcept override { return comm_.waiting(); }
    void on_tick(Nanoseconds) noexcept override {}

    ofi::PeerUser& comm_;
    const ofi::Peer* peer_ = nullptr;
    const ofi::Peer* first_ = nullptr;
};

class Rails {
  public:
    explicit Rails(ofi::PeerUser& comm) : users_{RailUser(comm), RailUser(comm), RailUser(comm)} {}
    /// Adds one rail for each of `names`: `own`'s next endpoint with that peer. The death of any of them is told to the comm.
    /// `first` stays its comm's to give back. false: the provider refused an address, logged.
    [[nodiscard]] bool join(FabricEndpoint& own, ofi::Peer& first, const ofi::RailNames& names,
                            const HostIdentity& identity, std::size_t packet_bytes);
    /// Gives the added peers back.
    void leave() noexcept;
    /// Has the peer spoken over each of them? Two sides that meet for the first time by writing to each other may lose what
    /// they write, while their provider settles which of two connections stays.
    [[nodiscard]] bool reached() const noexcept {
        return std::all_of(rails_.begin(), rails_.begin() + count_,
                           [](const Rail& rail) { return rail.peer->heard != 0 || rail.peer->gone(); });
    }
    /// Makes the peer speak over those where it has not.
    void probe() noexcept {
        for (std::size_t i = 1; i < count_; ++i)
            if (rails_[i].peer->heard == 0) rails_[i].endpoint->probe(*rails_[i].peer);
    }
    /// Nothing can come over any of them any more.
    [[nodiscard]] bool all_gone() const noexcept {
        return std::all_of(rails_.begin(), rails_.begin() + count_, [](const Rail& rail) { return rail.peer->gone(); });
    }

    [[nodiscard]] bool any_lost() const noexcept {
        return std::any_of(rails_.begin(), rails_.begin() + count_, [](const Rail& rail) { return rail.peer->lost; });
    }
    /// A write has come, over any of them: the peer lives. Which one it was is not known, and so not reached() by it.
    void heard() noexcept {
        for (std::size_t i = 0; i < count_; ++i)
            if (rails_[i].peer->heard != 0) ++rails_[i].peer->heard;
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] const Rail& operator[](std::size_t i) const noexcept { return rails_[i]; }

  private:
    std::array<Rail, ofi::kMaxRails> rails_;
    std::array<RailUser, ofi::kMaxRails - 1> users_;
    std::size_t count_ = 0;
};

}  // namespace duofi::net
