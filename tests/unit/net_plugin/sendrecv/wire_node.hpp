// A peer that speaks the protocol by hand: sends what a test says, records what it gets. It shares
// the endpoint code with the comms under test, nothing above it. Its service thread and the test's
// thread may both move it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "net_plugin/handle.hpp"
#include "net_plugin/comms/data_operation.hpp"
#include "net_plugin/comms/wire.hpp"
#include "tests/unit/net_plugin/sendrecv/announcements.hpp"
#include "tests/unit/net_plugin/sendrecv/fabric.hpp"

namespace duofi::net::comm_test {

using ofi::MessageKind;

struct WireMessage {
    ofi::MessageHeader header;
    std::vector<std::byte> payload;
};

/// An endpoint of the raw peer.
class WireNode {
  public:
    explicit WireNode(const std::string& provider, const Adjust& adjust = {});
    [[nodiscard]] ofi::Endpoint& ofi() { return *endpoint_; }
    void poll();

  private:
    Settings settings_;
    std::shared_ptr<ofi::Endpoint> endpoint_;
};

/// One end of one connection.
class WireLink : private ofi::PortOwner, private ofi::PeerUser {
  public:
    explicit WireLink(WireNode& node);
    ~WireLink() override;

    // As the sending side.
    /// Asks a listen comm; `change` may spoil the request.
    void ask(const Handle& handle, const std::function<void(ofi::Hello&)>& change = {},
             std::uint32_t eager_limit = 8192);
    // As the receiving side.
    [[nodiscard]] Handle handle(const std::string& provider);
    /// Answers the connect request that has arrived.
    void answer(std::uint32_t eager_limit, std::uint32_t credits,
                const std::function<void(ofi::Welcome&)>& change = {});
    void refuse(ofi::RefuseReason reason);

    void send(MessageKind kind, std::uint32_t word, std::uint64_t value,
              std::span<const std::byte> payload = {});
    void eager(int tag, std::uint32_t index, std::span<const unsigned char> data);
    void announce(const std::vector<Announcement>& announcements);
    /// Waits for the first `count` messages of this kind; throws after the patience.
    std::vector<WireMessage> wait_for(MessageKind kind, std::size_t count = 1);
    [[nodiscard]] std::vector<WireMessage> all(MessageKind kind);
    /// Every announced receive so far.
    [[nodiscard]] std::vector<Announcement> announcements();
    /// The number that the other side gave to its end.
    [[nodiscard]] std::uint32_t remote_port() const { return remote_port_; }

    /// A large transfer on the data path; waits until it is over. Gives its error code.
    int send_data(std::uint64_t tag, std::span<const unsigned char> data);
    void post_data_receive(std::uint64_t tag, std::span<unsigned char> data);
    /// Length of the posted receive, once it has come.
    std::size_t wait_for_data();
    [[nodiscard]] std::uint32_t port() const { return port_; }
    [[nodiscard]] WireNode& node() { return node_; }

  private:
    void on_message(const ofi::Message& message) noexcept override;
    void on_peer_lost() noexcept override {}
    [[nodiscard]] bool waiting() const noexcept override { return false; }
    void on_tick(Nanoseconds) noexcept override {}
    struct Transfer : DataOperation {
        bool over = false;
        int error = 0;
        std::size_t length = 0;
    };
    void take_peer(const ofi::EndpointName& name);
    void wait(Transfer& transfer);
    static void on_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

    WireNode& node_;
    ofi::Peer* peer_ = nullptr;
    std::uint32_t port_ = 0;
    std::uint32_t remote_port_ = 0;
    ofi::Nonce nonce_{};
    std::vector<WireMessage> received_;
    Transfer incoming_;
    Transfer outgoing_;
};

/// A link of `node` that is connected to a new receive comm of `side`.
struct WireSender {
    std::unique_ptr<WireLink> link;
    Owned<RecvComm> recv;
};
[[nodiscard]] WireSender wire_sender(WireNode& node, Side& side, std::uint32_t eager_limit = 8192);

/// A link of `node` that answers a new send comm of `side`.
struct WireReceiver {
    std::unique_ptr<WireLink> link;
    Owned<SendComm> send;
};
[[nodiscard]] WireReceiver wire_receiver(WireNode& node, Side& side, const std::string& provider,
                                         std::uint32_t eager_limit = 8192,
                                         std::uint32_t credits = kEagerCredits);

}  // namespace duofi::net::comm_test
