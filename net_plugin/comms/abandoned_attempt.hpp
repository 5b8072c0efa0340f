// A connect request whose asker gave up before the answer. Should the other side accept it after all, it must learn
// that nobody is here. Owned by the endpoint; its lock is held.
#pragma once

#include <cstdint>

#include "common/ofi/endpoint.hpp"

namespace duofi::net {

class AbandonedAttempt : public ofi::PortOwner, private ofi::PeerUser {
  public:
    /// Takes over an open port. Throws nothing: short of memory the port is closed and the answer lost.
    static void leave(ofi::Endpoint& endpoint, ofi::Peer& peer, std::uint32_t port) noexcept;

  private:
    AbandonedAttempt(ofi::Endpoint& endpoint, ofi::Peer& peer, std::uint32_t port)
        : endpoint_(endpoint), peer_(peer), port_(port) {}
    void on_message(const ofi::Message& message) noexcept override;
    void on_peer_lost() noexcept override { finish(); }
    [[nodiscard]] bool waiting() const noexcept override { return false; }
    void on_tick(Nanoseconds) noexcept override {}
    void finish() noexcept;

    ofi::Endpoint& endpoint_;
    ofi::Peer& peer_;
    std::uint32_t port_;
};

}  // namespace duofi::net
