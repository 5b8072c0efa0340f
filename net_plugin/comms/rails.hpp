// The endpoints that a comm moves large messages over, and its peer's on each of them. Messages use the first. Guarded by
// the lock that they share.
#pragma once

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

class Rails {
  public:
    /// Adds one rail for each of `names`: `own`'s next endpoint with that peer. The death of any of them is told to `user`.
    /// `first` stays its comm's to give back. false: the provider refused an address, logged.
    [[nodiscard]] bool join(FabricEndpoint& own, ofi::Peer& first, const ofi::RailNames& names,
                            const HostIdentity& identity, std::size_t packet_bytes, ofi::PeerUser& user);
    /// Gives the added peers back.
    void leave(ofi::PeerUser& user) noexcept;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] const Rail& operator[](std::size_t i) const noexcept { return rails_[i]; }

  private:
    std::array<Rail, ofi::kMaxRails> rails_;
    std::size_t count_ = 0;
};

}  // namespace duofi::net
