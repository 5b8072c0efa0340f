// The receiving end of a connection: matches eager messages, announces receives for large ones.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "net_plugin/neuron/one_sided.hpp"
#include "net_plugin/protocol.hpp"
#include "net_plugin/request_pool.hpp"
#include "net_plugin/comms/endpoint.hpp"
#include "net_plugin/comms/large_path.hpp"
#include "net_plugin/comms/rails.hpp"
#include "net_plugin/comms/recv_request.hpp"
#include "net_plugin/comms/tag_order.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {

class FabricRecvComm : public RecvComm,
                         private RequestOwner,
                         private ofi::PortOwner,
                         private ofi::PeerUser,
                         private ofi::Flushable {
  public:
    explicit FabricRecvComm(FabricEndpoint& endpoint);

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

    // For the path of the large receives, lock held.
    /// The data of an announced entry is in its buffer.
    void arrived(RecvEntry& entry, std::size_t bytes) noexcept;
    /// An operation of the entry has come back from the provider after its message came another way, or with an error that
    /// is told if the entry still waited.
    void came_back(RecvEntry& entry, const ofi::Completion& completion) noexcept;
    /// The provider holds an operation of the entry from now on; each one ends with operation_done.
    void operation_posted(RecvEntry& entry) noexcept;
    void operation_done(RecvRequest& request) noexcept;
    /// The request goes to its owner if nothing is missing, or back to the pool if it was given up.
    void conclude(RecvRequest& request) noexcept;
    [[nodiscard]] bool holds_operations() const noexcept { return at_provider_ != 0; }
    template <typename F>
    void for_each_entry(F&& f) {
        requests_.for_each_slot([&](RecvRequest& request) {
            for (RecvEntry& entry : request.entries) f(entry);
        });
    }
    /// The provider may still write into the requests.
    void keep_requests() noexcept { requests_.keep_memory(); }
    [[nodiscard]] ofi::Peer& peer() noexcept { return *peer_; }
    [[nodiscard]] const Rails& rails() const noexcept { return rails_; }
    [[nodiscard]] std::uint32_t port() const noexcept { return port_; }

  private:
    enum class Stage : std::uint8_t { open, lost, closed_by_peer, violated, closing };
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
    void on_write(std::uint32_t word, std::size_t bytes) noexcept override;
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
    void write_announcements() noexcept;
    [[nodiscard]] std::size_t prepare_some(std::size_t room) noexcept;
    void give_up(RecvEntry& entry) noexcept;
    void on_close(const ofi::MessageHeader& header) noexcept;
    void write_credit() noexcept;
    void link(RecvEntry& entry) noexcept;
    void unlink(RecvEntry& entry) noexcept;
    void fail_unmatched() noexcept;
    [[nodiscard]] bool all_here() const noexcept;
    void tear_down();
    [[nodiscard]] ofi::MessageHeader header_for(ofi::MessageKind kind) const noexcept;

    FabricEndpoint& endpoint_;
    ofi::Endpoint& ofi_;
    ofi::Peer* peer_ = nullptr;
    Rails rails_{*this};
    std::uint32_t port_ = 0;
    std::uint32_t remote_port_ = 0;
    std::atomic<Stage> stage_{Stage::open};
    std::size_t eager_limit_ = 0;
    bool announce_ = true;            ///< large receives are announced when posted, not when asked for
    std::uint64_t eager_received_ = 0;
    std::uint64_t eager_consumed_ = 0;
    std::uint64_t credit_told_ = 0;
    std::uint64_t sent_by_peer_ = 0;  ///< eager messages, known once it has closed
    std::optional<std::uint32_t> large_by_peer_;  ///< likewise, parts of large ones
    TagOrder tags_;
    RequestPool<RecvRequest> requests_;
    RecvEntry* first_ = nullptr;      ///< entries without their message, in posting order
    RecvEntry* last_ = nullptr;
    std::vector<RecvEntry*> announcing_;  ///< to be posted and told to the sender
    std::vector<Unexpected> unexpected_;
    std::vector<Want> wants_;
    std::vector<Announcement> prepared_;  ///< those of one message that has not left
    std::size_t prepared_bytes_ = 0;
    std::uint32_t at_provider_ = 0;
    std::unique_ptr<LargeReceives> large_;
    OneSided one_sided_;
};

}  // namespace duofi::net
