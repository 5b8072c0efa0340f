// One remote endpoint as seen from one of ours: its address, what is queued for it, how we know it lives.
// Guarded by the endpoint's lock.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <vector>

#include "common/ofi/endpoint_name.hpp"
#include "common/ofi/knock.hpp"
#include "common/ofi/message.hpp"
#include "common/ofi/packet.hpp"
#include "common/util/clock.hpp"
#include "common/util/host_identity.hpp"

namespace duofi::ofi {

/// Has something to say to its peer that can wait until the next packet leaves (announcements, credits).
class Flushable {
  public:
    virtual ~Flushable() = default;
    /// Appends its messages. Called under the endpoint's lock, once per mark_dirty.
    virtual void flush() noexcept = 0;

  private:
    friend class Endpoint;
    Flushable* next_dirty_ = nullptr;
    bool dirty_ = false;
};

/// A comm that uses the peer.
class PeerUser {
  public:
    virtual ~PeerUser() = default;
    /// The peer is gone: fail what waits for it. Under the endpoint's lock, once.
    virtual void on_peer_lost() noexcept = 0;
    /// Is something waiting for this peer? Decides whether silence is looked into.
    [[nodiscard]] virtual bool waiting() const noexcept = 0;
    /// Called about every 100 ms by the service thread with the endpoint's time.
    virtual void on_tick(Nanoseconds now) noexcept = 0;
};

/// Every endpoint posts at least this much; enough for handshakes.
inline constexpr std::size_t kSmallestPacket = message_bytes(1024);

struct Peer {
    fi_addr_t address = FI_ADDR_UNSPEC;
    EndpointName name;
    std::uint32_t references = 0;
    std::vector<PeerUser*> users;

    // sending
    TxPacket* staged = nullptr;        ///< being filled
    TxPacket* queue_head = nullptr;    ///< full or not accepted yet, in order
    TxPacket* queue_tail = nullptr;
    std::uint32_t queued = 0;
    std::uint32_t in_flight = 0;       ///< packets posted, not completed
    std::uint32_t data_in_flight = 0;  ///< large sends posted, not completed
    Flushable* dirty = nullptr;
    Flushable* flushing = nullptr;     ///< rest of a flush that is under way
    bool in_flush = false;             ///< messages are staged only, they leave together
    bool active = false;               ///< in the endpoint's list of peers to serve
    Nanoseconds blocked_since = 0;     ///< first FI_EAGAIN of an unbroken row, 0 = not blocked

    // life
    bool lost = false;                 ///< dead by evidence
    bool departed = false;             ///< said goodbye: its endpoint is closed
    bool answered_goodbye = false;     ///< it has everything we sent
    bool established = false;          ///< it has sent us something
    std::size_t packet_limit = kSmallestPacket;  ///< bytes of the buffers it posts (handshake)
    std::uint64_t heard = 0;           ///< messages received from it
    HostIdentity identity{};           ///< from the handshake
    bool process_visible = false;      ///< identity names a process that we can look at
    std::uint64_t heard_at_tick = 0;
    Nanoseconds process_seen_at = 0;   ///< when its process was last asked for
    Nanoseconds roused_at = 0;
    Nanoseconds silent_since = 0;
    Nanoseconds exited_at = 0;
    Nanoseconds probed_at = 0;
    Knock knock;
    Nanoseconds knocked_at = 0;        ///< when the last question was answered
    Nanoseconds unused_since = 0;

    /// Nothing more can be sent to it.
    [[nodiscard]] bool gone() const noexcept { return lost || departed; }
    [[nodiscard]] bool idle() const noexcept {
        return staged == nullptr && queue_head == nullptr && dirty == nullptr;
    }
};

}  // namespace duofi::ofi
