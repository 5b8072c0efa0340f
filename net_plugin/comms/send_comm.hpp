// The sending end of a connection: eager copies within credits, large sends when the receiver announces them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "net_plugin/neuron/one_sided.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/request_pool.hpp"
#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/comms/large_path.hpp"
#include "net_plugin/comms/rails.hpp"
#include "net_plugin/comms/send_request.hpp"
#include "net_plugin/comms/tag_order.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {

class FabricSendComm : public SendComm,
                         private RequestOwner,
                         private ofi::PortOwner,
                         private ofi::PeerUser,
                         private ofi::Flushable {
  public:
    explicit FabricSendComm(FabricEndpoint& endpoint);

    /// First step of connect: asks the listen comm. Errors: system or no_memory.
    [[nodiscard]] Status start_connect(const Handle& handle);
    /// true = connected. Errors: remote, when refused, lost, or past DUOFI_CONNECT_TIMEOUT; logged.
    [[nodiscard]] Result<bool> continue_connect();
    /// The connect request has left this process.
    [[nodiscard]] bool request_left();

    Result<void*> register_memory(void* data, std::size_t size) override;
    Result<Request*> isend(void* data, std::size_t size, int tag, void* memory) override;
    OneSided* one_sided() noexcept override {
        return ofi_.domain().allows_remote_access() ? &one_sided_ : nullptr;
    }
    void close() override;

    // For the path of the large sends, lock held.
    /// Makes the next operation of the request ready to be posted on a rail.
    [[nodiscard]] DataOperation& next_operation(SendRequest& request, std::size_t rail) noexcept;
    /// The provider has taken it.
    void posted(SendRequest& request) noexcept;
    [[nodiscard]] const Rails& rails() const noexcept { return rails_; }
    [[nodiscard]] std::uint32_t remote_port() const noexcept { return remote_port_; }

  private:
    enum class Stage : std::uint8_t { asking, connected, refused, lost, closed_by_peer };

    // RequestOwner, PortOwner, PeerUser, Flushable
    void progress(Request& request) override;
    void retire(Request& request) override;
    [[nodiscard]] ncclResult_t failure() const noexcept override;
    void on_message(const ofi::Message& message) noexcept override;
    void on_peer_lost() noexcept override;
    [[nodiscard]] bool waiting() const noexcept override;
    void on_tick(Nanoseconds now) noexcept override;
    void flush() noexcept override;

    void on_welcome(const ofi::Message& message) noexcept;
    /// Connected is who has heard the peer over all rails.
    void reach_rails() noexcept;
    void on_announcements(const ofi::Message& message) noexcept;
    void on_credit(std::uint64_t consumed) noexcept;
    void on_remote_close() noexcept;
    void fail_unsent() noexcept;
    [[nodiscard]] bool ended() const noexcept;
    void answer_close() noexcept;
    [[nodiscard]] Result<bool> ready_to_send();
    void fill(SendRequest& request, const void* data, std::size_t size, int tag, std::uint32_t index) noexcept;
    void start_large(SendRequest& request) noexcept;
    [[nodiscard]] bool send_eager(SendRequest& request) noexcept;
    void announced(SendRequest& request, const Announcement& announcement) noexcept;
    void ask_for(SendRequest& request, Nanoseconds now) noexcept;
    [[nodiscard]] bool take_announcement(int tag, std::uint32_t index, Announcement& out) noexcept;
    [[nodiscard]] ofi::MessageHeader header_for(ofi::MessageKind kind) const noexcept;
    void cancel_large(Nanoseconds limit) noexcept;
    void keep_registrations();
    void tear_down() noexcept;
    static void large_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

    FabricEndpoint& endpoint_;
    ofi::Endpoint& ofi_;
    ofi::Peer* peer_ = nullptr;
    Rails rails_{*this};  ///< once connected
    std::uint32_t port_ = 0;
    std::uint32_t remote_port_ = 0;
    ofi::Nonce nonce_{};
    std::atomic<Stage> stage_{Stage::asking};
    ofi::RefuseReason refuse_reason_{};
    Nanoseconds connect_deadline_ = 0;
    Nanoseconds probe_at_ = 0;

    std::size_t eager_limit_ = 0;
    std::uint64_t credits_ = 0;
    std::uint64_t eager_sent_ = 0;
    std::uint64_t eager_consumed_ = 0;
    bool last_was_eager_ = false;  ///< then the receiver may not announce by itself
    TagOrder tags_;
    RequestPool<SendRequest> requests_;
    SendQueue blocked_;      ///< small, no credit
    SendQueue unannounced_;  ///< large, the receiver is not ready
    SendQueue ready_;        ///< large, to be posted
    Nanoseconds next_ask_ = 0;
    std::uint32_t at_provider_ = 0;
    std::uint32_t parts_sent_ = 0;    ///< of large sends: the provider has or had them, and did not fail
    bool answer_owed_ = false;        ///< the receiver has closed and waits for the last write
    std::unique_ptr<LargeSends> large_;
    std::vector<Announcement> announcements_;  ///< of sends that the caller has not made yet
    OneSided one_sided_;
};

}  // namespace duofi::net
