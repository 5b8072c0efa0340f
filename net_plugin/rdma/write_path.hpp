// Large messages as writes into the receiver's memory, over all rails, each with a word for the receiver: the RDMA protocol (net
// contract 5.4, 5.5). Completions are counted, their order means nothing. Endpoint's lock held.
#pragma once

#include <array>
#include <optional>

#include "net_plugin/comms/large_path.hpp"
#include "net_plugin/rdma/scheduler.hpp"

namespace duofi::net {

class WrittenSends : public LargeSends {
  public:
    WrittenSends(FabricEndpoint& endpoint, FabricSendComm& comm);
    void hold(SendRequest& request, const MemoryHandle* memory) noexcept override;
    ofi::Posted post(SendRequest& request) noexcept override;
    void release(SendRequest& request) noexcept override { request.held.release(); }

  private:
    FabricSendComm& comm_;
    Scheduler scheduler_;
};

class WrittenReceives : public LargeReceives {
  public:
    WrittenReceives(FabricEndpoint& endpoint, FabricRecvComm& comm) : endpoint_(endpoint), comm_(comm) {}
    bool acceptable(const RecvBuffer& buffer) const noexcept override;
    void hold(RecvEntry& entry, const RecvBuffer& buffer) noexcept override;
    bool prepare(RecvEntry& entry, Announcement& out) noexcept override;
    bool withdraw(RecvEntry& entry) noexcept override;
    void on_write(std::uint32_t word, std::size_t bytes) noexcept override;
    bool all_here(std::uint32_t sent) const noexcept override {
        return static_cast<std::int32_t>(writes_ - sent) >= 0;
    }
    void sender_done(std::uint32_t sent) noexcept override { sent_at_end_ = sent; }
    std::unique_ptr<LateTraffic> close(RecvEntry* first, bool sender_may_send, Nanoseconds limit) override;

  private:
    // More than there can be announced receives: a free one is always found.
    static constexpr std::size_t kSlots = 2048;
    static_assert(kSlots > kMaxRecvRequests * Request::kMaxSizes);

    void forget(RecvEntry& entry) noexcept;
    [[nodiscard]] bool nothing_comes() const noexcept;

    FabricEndpoint& endpoint_;
    FabricRecvComm& comm_;
    std::uint32_t next_sequence_ = 0;
    std::uint32_t writes_ = 0;
    std::optional<std::uint32_t> sent_at_end_;
    std::array<RecvEntry*, kSlots> announced_{};  ///< by sequence
};

}  // namespace duofi::net
