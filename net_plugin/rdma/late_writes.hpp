// After a receive comm was closed, its sender may still write what had been announced to it, and has not said that it does not
// (it is stopped, or slow). The memory stays registered and the port taken until it says so, or is gone. Owned by the endpoint;
// its lock is held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/comms/held_memory.hpp"
#include "net_plugin/comms/large_path.hpp"

namespace duofi::net {

class LateWrites : public LateTraffic, private ofi::PeerUser {
  public:
    /// `writes`: those that have come so far; `sent`: all there are, if the sender has said so.
    LateWrites(FabricEndpoint& endpoint, ofi::Peer& peer, std::uint32_t port, std::uint32_t writes,
               std::optional<std::uint32_t> sent);
    ~LateWrites() override { release(); }

    void keep(const HeldMemory& memory) { held_.push_back(memory); }
    void start() noexcept override;

  private:
    void on_message(const ofi::Message& message) noexcept override;
    void on_write(std::uint32_t word, std::size_t bytes) noexcept override;
    void on_peer_lost() noexcept override { finish(); }
    [[nodiscard]] bool waiting() const noexcept override { return !finished_; }
    void on_tick(Nanoseconds) noexcept override {}
    void finish() noexcept;
    void release() noexcept;

    ofi::Endpoint& endpoint_;
    std::vector<std::shared_ptr<ofi::Domain>> domains_;  ///< of the memory; an endpoint of a rail may close before
    ofi::Peer& peer_;
    std::uint32_t port_;
    std::uint32_t writes_;
    std::optional<std::uint32_t> sent_;
    std::vector<HeldMemory> held_;
    bool finished_ = false;
};

}  // namespace duofi::net
