// How large messages move once their receiver has announced them: the part in which the protocols differ. One object for each
// comm, under the endpoint's lock; everything else (connections, eager messages, order, announcements) is the comms' own.
#pragma once

#include <cstdint>
#include <memory>

#include "common/ofi/endpoint.hpp"
#include "net_plugin/comms/recv_request.hpp"
#include "net_plugin/comms/send_request.hpp"
#include "net_plugin/comms/wire.hpp"

namespace duofi::net {

struct MemoryHandle;
struct RecvBuffer;

class FabricEndpoint;
class FabricSendComm;
class FabricRecvComm;

class LargeSends {
  public:
    virtual ~LargeSends() = default;
    /// What the send needs until it is over. `memory` may be NULL.
    virtual void hold(SendRequest& request, const MemoryHandle* memory) noexcept = 0;
    /// Hands the announced send to the provider, as far as it takes it; `again`: call again for the rest. Each operation
    /// that is posted goes through FabricSendComm::posted.
    [[nodiscard]] virtual ofi::Posted post(SendRequest& request) noexcept = 0;
    /// The request is over, or its comm closes.
    virtual void release(SendRequest& request) noexcept = 0;
};

/// What may still come for a receive comm that is closed. Owned by the endpoint, as owner of the comm's port.
class LateTraffic : public ofi::PortOwner {
  public:
    /// Takes over; the endpoint owns it already.
    virtual void start() noexcept = 0;
};

class LargeReceives {
  public:
    virtual ~LargeReceives() = default;
    /// Can data come into this buffer? false: it is not registered, though it would have to be.
    [[nodiscard]] virtual bool acceptable(const RecvBuffer& buffer) const noexcept = 0;
    /// What the entry needs until it is over.
    virtual void hold(RecvEntry& entry, const RecvBuffer& buffer) noexcept = 0;
    /// Makes the buffer ready for its sender and fills in how it is reached. false: not now.
    [[nodiscard]] virtual bool prepare(RecvEntry& entry, Announcement& out) noexcept = 0;
    /// The entry's message came another way, or never will. true: the provider still holds it, and tells when it does not.
    virtual bool withdraw(RecvEntry& entry) noexcept = 0;
    /// A peer's word beside a write.
    virtual void on_write(std::uint32_t word, std::size_t bytes) noexcept = 0;
    /// The sender has closed after that many operations: are they all here?
    [[nodiscard]] virtual bool all_here(std::uint32_t sent) const noexcept = 0;
    /// While this side closes: the sender starts no more than those.
    virtual void sender_done(std::uint32_t sent) noexcept = 0;
    /// Takes back what the provider or the sender holds of the entries from `first` on, for at most `limit`. What may come
    /// all the same is for the result.
    [[nodiscard]] virtual std::unique_ptr<LateTraffic> close(RecvEntry* first, bool sender_may_send,
                                                             Nanoseconds limit) = 0;
};

/// Those of the endpoint's protocol.
[[nodiscard]] std::unique_ptr<LargeSends> make_large_sends(FabricEndpoint& endpoint, FabricSendComm& comm);
[[nodiscard]] std::unique_ptr<LargeReceives> make_large_receives(FabricEndpoint& endpoint, FabricRecvComm& comm);

}  // namespace duofi::net
