// After a receive comm was closed, the sender may still send what had been announced to it. Nobody would match
// such a message, and on some providers it would hold up all that follows on the connection. This takes it in,
// into memory of our own, until the sender has closed too. Owned by the endpoint; its lock is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "net_plugin/comms/data_operation.hpp"
#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/comms/large_path.hpp"

namespace duofi::net {

class LateReceives : public LateTraffic, private ofi::PeerUser {
  public:
    LateReceives(FabricEndpoint& endpoint, ofi::Peer& peer, std::uint32_t port)
        : budget_(endpoint.receives()), endpoint_(endpoint.ofi()), peer_(peer), port_(port) {}

    void expect(std::uint64_t tag, std::size_t size);
    [[nodiscard]] bool empty() const noexcept { return receives_.empty(); }
    void start() noexcept override;

  private:
    struct Receive {
        ReceiveOperation op;
        std::uint64_t tag;
        std::size_t size;
    };
    void on_message(const ofi::Message& message) noexcept override;
    void on_peer_lost() noexcept override { finish(); }
    [[nodiscard]] bool waiting() const noexcept override { return open_ != 0; }
    void on_tick(Nanoseconds) noexcept override {
        if (peer_.gone()) finish();
    }
    void finish() noexcept;
    static void complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

    ReceiveBudget& budget_;
    ofi::Endpoint& endpoint_;
    ofi::Peer& peer_;
    std::uint32_t port_;
    std::list<Receive> receives_;
    std::vector<std::byte> memory_;
    std::size_t open_ = 0;
    bool finished_ = false;
};

}  // namespace duofi::net
