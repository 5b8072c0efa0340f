// The receiving end of a connection: matches eager messages, announces receives for large ones.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "net_plugin/neuron/one_sided.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/request_pool.hpp"
#include "net_plugin/sendrecv/endpoint.hpp"
#include "net_plugin/sendrecv/recv_request.hpp"
#include "net_plugin/sendrecv/tag_order.hpp"
#include "net_plugin/sendrecv/wire.hpp"

namespace duofi::net {

class SendrecvRecvComm : public RecvComm,
                         private RequestOwner,
                         private ofi::PortOwner,
                         private ofi::PeerUser,
                         private ofi::Flushable {
  public:
    explicit SendrecvRecvComm(SendrecvEndpoint& endpoint);

    // For the listen comm, endpoint's lock held.
    /// Takes the asker as peer and queues the answer. false: refused by the provider or no ports, logged.
    [[nodiscard]] bool answer(const ofi::Hello& hello);
    [[nodiscard]] bool answer_left() const noexcept { return peer_->queue_head == nullptr && peer_->staged == nullptr; }
    [[nodiscard]] bool lost() const noexcept { return peer_->gone(); }

    Result<void*> register_memory(void* data, std::size_t size) override;
    Result<Request*> irecv(const RecvBuffer* buffers, int count) override;
    Result<Request*> iflush(const RecvBuffer* buffers, int count) override;
    OneSided* one_sided() noexcept override {
        return ofi_.domain().allows_remote_access() ? &one_sided_ : nullptr;
    }
    void close() override;

  private:
    enum class Stage : std::uint8_t { open, lost, closed_by_peer, violated };
    struct Unexpected {
        int tag;
        std::uint32_t index;
        const std::byte* data;
        std::uint32_t size;
        ofi::RxPacket* packet;
    };
    struct Want {
        int tag;
        std::uint32_t index;
    };

    void progress(Request& request) override;
    void retire(Request& request) override;
    [[nodiscard]] ncclResult_t failure() const noexcept override;
    void on_message(const ofi::Message& message) noexcept override;
    void on_peer_lost() noexcept override;
    [[nodiscard]] bool waiting() const noexcept override;
    void on_tick(Nanoseconds now) noexcept override;
    void flush() noexcept override;

    void on_eager(const ofi::Message& message) noexcept;
    void on_want(int tag, std::uint32_t index) noexcept;
    void prepare(RecvEntry& entry, RecvRequest& request, const RecvBuffer& buffer, void* descriptor);
    [[nodiscard]] bool take_unexpected(RecvEntry& entry) noexcept;
    [[nodiscard]] bool wanted(int tag, std::uint32_t index) noexcept;
    [[nodiscard]] RecvEntry* find_waiting(int tag, std::uint32_t index) noexcept;
    void fill(RecvEntry& entry, const std::byte* data, std::size_t size) noexcept;
    void settle(RecvRequest& request) noexcept;
    void to_announce(RecvEntry& entry) noexcept;
    [[nodiscard]] bool post(RecvEntry& entry) noexcept;
    void write_announcements() noexcept;
    void write_credit() noexcept;
    void link(RecvEntry& entry) noexcept;
    void unlink(RecvEntry& entry) noexcept;
    void fail_unmatched() noexcept;
    void cancel_posted(Nanoseconds limit) noexcept;
    void tear_down();
    [[nodiscard]] ofi::MessageHeader header_for(ofi::MessageKind kind) const noexcept;
    static void large_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

    SendrecvEndpoint& endpoint_;
    ofi::Endpoint& ofi_;
    ofi::Peer* peer_ = nullptr;
    std::uint32_t port_ = 0;
    std::uint32_t remote_port_ = 0;
    std::atomic<Stage> stage_{Stage::open};
    std::size_t eager_limit_ = 0;
    bool announce_ = true;            ///< large receives are announced when posted, not when asked for
    std::uint64_t eager_received_ = 0;
    std::uint64_t eager_consumed_ = 0;
    std::uint64_t credit_told_ = 0;
    std::uint64_t sent_by_peer_ = 0;  ///< eager messages, known once it has closed
    std::uint32_t next_sequence_ = 0;
    TagOrder tags_;
    RequestPool<RecvRequest> requests_;
    RecvEntry* first_ = nullptr;      ///< entries without their message, in posting order
    RecvEntry* last_ = nullptr;
    std::vector<RecvEntry*> announcing_;  ///< to be posted and told to the sender
    std::vector<Unexpected> unexpected_;
    std::vector<Want> wants_;
    std::uint32_t at_provider_ = 0;
    OneSided one_sided_;
};

}  // namespace duofi::net
