// Large messages as tagged sends and receives: the tagged protocol (net contract 5.3). Endpoint's lock held.
#pragma once

#include "net_plugin/comms/large_path.hpp"

namespace duofi::net {

class TaggedSends : public LargeSends {
  public:
    explicit TaggedSends(FabricSendComm& comm) : comm_(comm) {}
    void hold(SendRequest&, const MemoryHandle*) noexcept override {}
    ofi::Posted post(SendRequest& request) noexcept override;
    void release(SendRequest&) noexcept override {}

  private:
    FabricSendComm& comm_;
};

class TaggedReceives : public LargeReceives {
  public:
    TaggedReceives(FabricEndpoint& endpoint, FabricRecvComm& comm) : endpoint_(endpoint), comm_(comm) {}
    bool acceptable(const RecvBuffer&) const noexcept override { return true; }
    void hold(RecvEntry&, const RecvBuffer&) noexcept override {}
    bool prepare(RecvEntry& entry, Announcement& out) noexcept override;
    bool withdraw(RecvEntry& entry) noexcept override;
    void on_write(std::uint32_t, std::size_t) noexcept override {}
    /// Those that are posted tell by themselves what became of them.
    bool all_here(std::uint32_t) const noexcept override { return true; }
    void sender_done(std::uint32_t) noexcept override {}
    std::unique_ptr<LateTraffic> close(RecvEntry* first, bool sender_may_send, Nanoseconds limit) override;

  private:
    void take_back(Nanoseconds limit) noexcept;
    static void complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

    FabricEndpoint& endpoint_;
    FabricRecvComm& comm_;
    std::uint32_t next_sequence_ = 0;
};

}  // namespace duofi::net
