// Writes into and reads from the memory of a comm's peer (net contract 3.10). A key is checked with the peer before it
// is used for the first time, and every range against what the peer said: providers lose, or choke on, accesses that
// nothing at the other side allows (P4). Guarded by the endpoint's lock except where noted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "common/ofi/endpoint.hpp"
#include "net_plugin/neuron/rma_request.hpp"
#include "net_plugin/request_pool.hpp"

namespace duofi::net {

/// What an owner answers about a key, on the wire.
struct RemoteRegion {
    std::uint64_t address = 0;  ///< of the owner's process
    std::uint64_t length = 0;   ///< bytes
    std::uint64_t origin = 0;   ///< address that the provider counts from: 0 where it takes addresses as they are

    [[nodiscard]] bool covers(std::uint64_t begin, std::uint64_t size) const noexcept {
        return begin >= address && size <= length && begin - address <= length - size;
    }
};
static_assert(sizeof(RemoteRegion) == 24);

class OneSided : private RequestOwner, private ofi::Flushable {
  public:
    /// Requests of one comm before it says "not now" (net contract 2.1).
    static constexpr std::size_t kMaxRequests = 128;

    /// `comm` is asked whether the connection has ended; both outlive this.
    OneSided(ofi::Endpoint& endpoint, RequestOwner& comm);

    /// Starts a transfer; without the lock. nullptr = not now. A write is done when its bytes are in the peer's
    /// memory, where the provider can tell; a write of 0 bytes is done at once. A key that the peer does not know, or a
    /// range outside of what it stands for, fails the request with ncclInvalidArgument. Errors, logged:
    /// invalid_argument (local memory, size), remote (the connection has ended).
    [[nodiscard]] Result<Request*> start(const RmaTransfer& transfer, void* memory);

    // --- for the comm ---
    void join(ofi::Peer& peer, std::uint32_t remote_port) noexcept;
    /// false: not one of the messages of this file.
    bool on_message(const ofi::Message& message) noexcept;
    /// The comm at the other side is closed: what has not left will not.
    void peer_closed() noexcept;
    [[nodiscard]] bool waiting() const noexcept {
        return at_provider_ != 0 || !queue_.empty() || !doubted_.empty();
    }
    void on_tick(Nanoseconds now) noexcept;
    /// Takes back what the provider holds, for at most `limit`; operations that do not come back stay behind.
    void close(Nanoseconds limit) noexcept;

  private:
    class Queue {
      public:
        [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
        [[nodiscard]] RmaRequest* head() const noexcept { return head_; }
        void push(RmaRequest& request) noexcept;
        void pop() noexcept;

      private:
        RmaRequest* head_ = nullptr;
        RmaRequest* tail_ = nullptr;
    };
    enum class Step : std::uint8_t { gone, stays };
    static constexpr std::size_t kMaxKnownKeys = 4096;
    // Of a question, and of its answer beside "known".
    static constexpr std::uint32_t kKnown = 1;
    static constexpr std::uint32_t kAfterwards = 2;  ///< is a key still good with which an access has just been done?

    void progress(Request& request) override;
    void retire(Request& request) override;
    /// What the provider has at the end of a connection may be done at the other side: it is waited for as long as
    /// the peer is there.
    [[nodiscard]] ncclResult_t failure() const noexcept override {
        return peer_gone_.load(std::memory_order_acquire) ? ncclRemoteError : ncclSuccess;
    }
    void flush() noexcept override { pump(); }

    [[nodiscard]] bool acceptable(const RmaTransfer& transfer, void* memory, void*& descriptor) noexcept;
    void fill(RmaRequest& request, const RmaTransfer& transfer, void* descriptor);
    [[nodiscard]] bool ended() const noexcept { return closed_ || comm_.failure() != ncclSuccess; }
    void look_for_end() noexcept;
    void pump() noexcept;
    [[nodiscard]] Step post_head(RmaRequest& request) noexcept;
    [[nodiscard]] ofi::Posted post(RmaRequest& request, const RemoteRegion& region) noexcept;
    void ask(std::uint64_t key) noexcept;
    void answer(const ofi::MessageHeader& question) noexcept;
    void on_answer(const ofi::Message& message) noexcept;
    void on_doubt_answered(const ofi::MessageHeader& answer) noexcept;
    void refuse(RmaRequest& request) noexcept;
    void doubt() noexcept;
    [[nodiscard]] bool send(ofi::MessageKind kind, std::uint32_t word, std::uint64_t value,
                            std::span<const std::byte> payload) noexcept;
    void failed(RmaRequest& request, const ofi::Completion& completion) noexcept;
    static void complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

    ofi::Endpoint& ofi_;
    RequestOwner& comm_;
    ofi::Peer* peer_ = nullptr;
    std::uint32_t remote_port_ = 0;
    std::optional<std::size_t> inline_limit_;  ///< bytes; asked for once, by the comm's thread
    RequestPool<RmaRequest> requests_;
    Queue queue_;       ///< not posted yet, in order
    Queue doubted_;     ///< done, says a provider that says so of refused ones too: the peer is asked, in this order
    RmaRequest* unasked_ = nullptr;  ///< the first of these whose question has not left
    const bool tells_refusals_;
    std::uint32_t at_provider_ = 0;
    bool asking_ = false;  ///< about the key of the first in the queue
    bool closed_ = false;
    std::atomic<bool> peer_gone_{false};
    std::unordered_map<std::uint64_t, RemoteRegion> known_;
};

}  // namespace duofi::net
