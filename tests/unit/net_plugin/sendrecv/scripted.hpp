// Comms over the fake provider, against a remote whose every packet the test writes. Nothing moves but what the test
// moves, and what the service thread polls.
#pragma once

#include <optional>

#include "tests/support/fake_fabric.hpp"
#include "tests/unit/net_plugin/sendrecv/fabric.hpp"
#include "tests/unit/ofi/core/packet_text.hpp"

namespace duofi::net::comm_test {

class Scripted : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kRemote = 1000;         ///< number of the remote's endpoint
    static constexpr std::uint32_t kRemotePort = 0x10007;  ///< of the remote's comm, or listen comm
    static constexpr std::size_t kLarge = 20000;

    void open(const Adjust& adjust = {});
    /// The remote leaves, so that closing waits for nobody.
    void TearDown() override;

    /// Asks the remote's listen comm, once.
    [[nodiscard]] SendComm* ask();
    /// The next step of the connection that was asked for.
    [[nodiscard]] Result<ConnectProgress> go_on(SendComm* attempt) { return asking_->connect(handle_, attempt); }
    /// After go_on has failed: the comm is closed, its reference on the endpoint is the caller's to give back.
    void drop_attempt() { asking_->release(); }
    /// A send comm that the remote has answered.
    [[nodiscard]] Owned<SendComm> connected();
    /// A listen comm with a connect request of the remote on its way.
    [[nodiscard]] Listener asked_for();
    /// A receive comm whose sender is the remote.
    [[nodiscard]] Owned<RecvComm> accepted() { return accept_one(*asked_for().comm.get()); }

    /// The answer to the connect request. More can be added, to arrive in the same packet.
    [[nodiscard]] test::PacketText welcome() const;
    void deliver(const test::PacketText& packet) { fake->deliver(packet.bytes()); }
    /// Waits until the service thread has looked after the peers once more; the time of that.
    [[nodiscard]] Nanoseconds next_tick();

    test::FakeFabric fabric;
    LogLines log{duofi::log::Level::warn};
    ofi::DeviceInfo info = fabric.device(0, 64);
    std::optional<Side> side;
    test::FakeEndpoint* fake = nullptr;

    [[nodiscard]] ofi::Hello said_hello() const;

  private:
    Handle handle_;
    FabricEndpoint* asking_ = nullptr;
};

}  // namespace duofi::net::comm_test
