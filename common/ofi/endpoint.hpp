// One libfabric endpoint with its queue and address vector: the message channel to its peers, large tagged
// transfers, and progress. Everything except open(), lock() and the marked calls needs the lock held.
#pragma once

#include <rdma/fi_tagged.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/ofi/domain.hpp"
#include "common/ofi/message.hpp"
#include "common/ofi/packet.hpp"
#include "common/ofi/peer.hpp"
#include "common/ofi/port_table.hpp"
#include "common/util/error.hpp"
#include "common/util/mutex.hpp"
#include "common/util/unique_fd.hpp"

namespace duofi::ofi {

/// Looks at (or sets options of) a new endpoint between its creation and its enabling; an error closes it.
using EndpointHook = std::function<Status(fid_ep*)>;

/// What became of a post on the data path.
enum class Posted : std::uint8_t { yes, again, lost };

class Endpoint {
  public:
    /// Opens, enables and fills the receive queue. `domain` stays open as long as the endpoint. `can_sleep`: the
    /// service thread shall be able to sleep until something arrives (arm), if the provider lets it.
    /// Errors: the provider's, logged. Any thread.
    /// `lead`: the new endpoint shares its lock, and its ports for the words beside writes; it stays open longer.
    [[nodiscard]] static Result<std::shared_ptr<Endpoint>> open(std::shared_ptr<Domain> domain,
                                                                const EndpointHook& hook = {},
                                                                bool can_sleep = false, Endpoint* lead = nullptr);
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    // --- any thread, no lock needed ---
    [[nodiscard]] Mutex& mutex() noexcept { return lead_->own_mutex_; }
    [[nodiscard]] Domain& domain() noexcept { return *domain_; }
    [[nodiscard]] const EndpointName& name() const noexcept { return name_; }
    [[nodiscard]] fid_ep* fid() const noexcept { return ep_.get(); }
    [[nodiscard]] std::uint64_t poll_count() const noexcept {
        return polls_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] const HostIdentity& identity() const noexcept { return self_; }
    /// Something was staged behind a packet in flight: a caller that has no other reason to poll should.
    [[nodiscard]] bool wants_poll() const noexcept {
        return wants_poll_.load(std::memory_order_relaxed);
    }
    /// Time of the last service tick; coarse, for ages of requests.
    [[nodiscard]] Nanoseconds tick_time() const noexcept {
        return tick_time_.load(std::memory_order_relaxed);
    }
    /// Size of our packets and of the buffers we post, bytes; part of the handshake.
    [[nodiscard]] std::size_t packet_bytes() const noexcept { return packet_bytes_; }

    // --- under the lock ---
    [[nodiscard]] PortTable& ports() noexcept { return ports_; }

    /// Drains completions (bounded), serves waiting peers. At most once per call of the host.
    void poll() noexcept;

    /// Finds or inserts the peer with this name; give it back with release_peer. nullptr: provider refused, for `reason`,
    /// which is Errc::invalid_argument when it is the address.
    [[nodiscard]] Peer* acquire_peer(const EndpointName& name, Error* reason = nullptr);
    void release_peer(Peer* peer) noexcept;
    void add_user(Peer& peer, PeerUser& user) { peer.users.push_back(&user); }
    void remove_user(Peer& peer, PeerUser& user) noexcept;
    /// Tells who runs the peer and how large its buffers are (handshake).
    void identify(Peer& peer, const HostIdentity& identity, std::size_t packet_bytes) noexcept;
    /// Largest payload of one message to this peer, bytes.
    [[nodiscard]] std::size_t max_message_payload(const Peer& peer) const noexcept {
        return packet_limit(peer) - sizeof(MessageHeader);
    }
    /// Text of a peer's address, for log lines.
    [[nodiscard]] std::string peer_text(const Peer& peer) const;

    /// Room for one message of `payload` bytes to `peer`; write the payload at the result, then commit().
    /// nullptr: bound of queued packets reached (only if `bounded`), no memory, or the peer is lost.
    [[nodiscard]] std::byte* reserve(Peer& peer, const MessageHeader& header, bool bounded) noexcept;
    /// Sends at once if nothing is in flight to the peer, else with the next poll.
    void commit(Peer& peer) noexcept;
    /// reserve + copy + commit for small unbounded control messages.
    bool send_message(Peer& peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept;
    /// Asks whether it is there; the answer counts as heard.
    void probe(Peer& peer) noexcept { (void)send_own_name(peer, MessageKind::probe); }
    /// Asks for flushable.flush() before the next packet to `peer` leaves, at the latest at the next poll.
    void mark_dirty(Peer& peer, Flushable& flushable) noexcept;
    void forget_dirty(Peer& peer, Flushable& flushable) noexcept;

    /// Large transfers. `lost` fails the peer. The operation completes later exactly once after `yes`.
    [[nodiscard]] Posted post_tagged_send(Peer& peer, const void* data, std::size_t size, void* descriptor,
                                          std::uint64_t tag, Operation& operation) noexcept;
    [[nodiscard]] Posted post_tagged_receive(Peer& peer, void* data, std::size_t size, void* descriptor,
                                             std::uint64_t tag, Operation& operation) noexcept;
    /// One-sided transfers between `data` and the peer's registered memory at `address` under `key`, `size` <= the
    /// provider's largest message. As above; the caller takes one off peer.data_in_flight when told of the end.
    [[nodiscard]] Posted post_write(Peer& peer, const void* data, std::size_t size, void* descriptor,
                                    std::uint64_t address, std::uint64_t key, Operation& operation) noexcept;
    /// As post_write, done only when the bytes are in the peer's memory, where the provider can tell (P17). `inject`:
    /// `data` is free again on return, needs no descriptor and is at most inject_limit() bytes.
    [[nodiscard]] Posted post_placed_write(Peer& peer, const void* data, std::size_t size, void* descriptor,
                                           std::uint64_t address, std::uint64_t key, bool inject,
                                           Operation& operation) noexcept;
    [[nodiscard]] std::size_t inject_limit() const noexcept;
    /// As post_write, and the peer's endpoint tells the port owner that `word` names (PortOwner::on_write). `word` travels in
    /// the low half of the provider's remote CQ data, the size in the high half where there is one (P1).
    [[nodiscard]] Posted post_written(Peer& peer, const void* data, std::size_t size, void* descriptor,
                                      std::uint64_t address, std::uint64_t key, std::uint32_t word,
                                      Operation& operation) noexcept;
    [[nodiscard]] Posted post_read(Peer& peer, void* data, std::size_t size, void* descriptor,
                                   std::uint64_t address, std::uint64_t key, Operation& operation) noexcept;
    void cancel(Operation& operation) noexcept { fi_cancel(&ep_->fid, &operation.context); }

    /// Gives back a packet that on_message retained.
    void release_packet(RxPacket* packet) noexcept;
    static void retain_packet(RxPacket* packet) noexcept { ++packet->references; }

    /// Keeps an object that must see completions after its comm is gone; ends with disown or the endpoint.
    void adopt(std::unique_ptr<PortOwner> orphan) { orphans_.push_back(std::move(orphan)); }
    /// Destroys it at the next poll.
    void disown(PortOwner& orphan) noexcept;

    /// Others reach into memory of this process through the endpoint while its owner calls nothing: the service
    /// thread looks after it, however quiet it is (rma contract 3.8, T-6).
    void add_passive_target() noexcept { ++passive_targets_; }
    void remove_passive_target() noexcept { --passive_targets_; }
    [[nodiscard]] bool has_passive_target() const noexcept {
        return passive_targets_ != 0 || !domain_->exposed().empty();
    }
    /// Something has just been sent to the peer, whose service thread may be asleep: rings its bell, where there are
    /// bells, if the two have not spoken for a while. Not before it is sent: a peer about to sleep takes the ring, finds
    /// nothing and sleeps.
    void rouse(Peer& peer) noexcept;

    /// Declares the peer dead: logs once, drops what is queued for it, tells its users.
    void lose_peer(Peer& peer, const char* evidence) noexcept;

    /// An endpoint of this process has closed: nothing may be sent to it any more, since a provider may reach
    /// into memory that is gone. Lock held.
    void forget_local_peer(const EndpointName& name) noexcept;

    // --- service thread ---
    /// Is there work that moves only if somebody polls? Lock held.
    [[nodiscard]] bool owes_progress() const noexcept;
    /// Life of peers, stalls, probes. Lock held.
    void tick(Nanoseconds now) noexcept;
    /// Completions seen so far. Lock held.
    [[nodiscard]] std::uint64_t completion_count() const noexcept { return completions_; }
    /// true: nothing is left to poll, and wait_descriptor() becomes readable when something arrives. Lock held.
    [[nodiscard]] bool arm() noexcept;
    /// -1: there is none.
    [[nodiscard]] int wait_descriptor() const noexcept { return wait_fd_.load(std::memory_order_relaxed); }
    void forget_wait_descriptor() noexcept { wait_fd_.store(-1, std::memory_order_relaxed); }

    static constexpr Nanoseconds kDrainLimit = 250 * kMillisecond;
    static constexpr std::uint32_t kMaxQueuedPackets = 32;
    static constexpr std::uint32_t kMaxInFlight = 32;

  private:
    static constexpr std::size_t kMaxBatch = 64;  ///< completions per fi_cq_read
    static constexpr int kMaxRounds = 16;         ///< reads per poll: bounds the time under the lock
    Endpoint(std::shared_ptr<Domain> domain, Endpoint* lead);
    [[nodiscard]] Status open_objects(const EndpointHook& hook, bool can_sleep);
    [[nodiscard]] int open_queue(bool can_sleep) noexcept;
    void open_bell() noexcept;
    void dispatch(std::span<const fi_cq_tagged_entry> entries) noexcept;
    void on_written(const fi_cq_tagged_entry& entry) noexcept;
    [[nodiscard]] Status fill_receive_queue();
    [[nodiscard]] std::size_t drain_completions(std::size_t batch) noexcept;
    void drain_error() noexcept;
    void post_receive(RxPacket* packet) noexcept;
    void post_waiting() noexcept;
    void lose_message(int error) noexcept;
    void log_lost(const Peer& peer, const char* evidence) const noexcept;
    void on_packet(RxPacket* packet, std::size_t length) noexcept;
    void on_endpoint_message(const Message& message) noexcept;
    void answer_unknown_port(const Message& message) noexcept;
    void activate(Peer& peer) noexcept;
    void serve(Peer& peer) noexcept;
    void flush_dirty(Peer& peer) noexcept;
    void enqueue_staged(Peer& peer) noexcept;
    void post_queued(Peer& peer) noexcept;
    ~Endpoint();
    /// The last owner has gone: sends what is still queued (at most kDrainLimit), then closes. Never waits for a lost peer.
    static void end(Endpoint* endpoint) noexcept;
    /// false: it cannot be closed now, and stays in the process with all that it refers to.
    [[nodiscard]] bool close() noexcept;
    [[nodiscard]] bool reads_ended() noexcept;
    template <typename Done>
    [[nodiscard]] bool poll_until(Done done) noexcept;
    void count_read(std::uint64_t flags) noexcept {
        if ((flags & FI_READ) != 0 && reads_in_flight_ != 0) --reads_in_flight_;
    }
    /// Each call that posts, and each that takes in what peers sent: beside registrations where the provider bears that.
    template <typename Call>
    ssize_t post(Call call) noexcept {
        const auto keys = domain_->key_guard().hold_to_post();
        return call();
    }
    template <typename Call>
    ssize_t take_in(Call call) noexcept {
        const auto keys = domain_->key_guard().hold_to_take_in();
        return call();
    }
    void drop_queued(Peer& peer) noexcept;
    [[nodiscard]] std::size_t packet_limit(const Peer& peer) const noexcept {
        return peer.packet_limit < packet_bytes_ ? peer.packet_limit : packet_bytes_;
    }
    [[nodiscard]] Posted data_posted(Peer& peer, ssize_t code) noexcept;
    void drain_for_close() noexcept;
    [[nodiscard]] bool has_local_peer() noexcept;
    static void tell_users(Peer& peer) noexcept;
    void forget_unused_peers(Nanoseconds now) noexcept;
    [[nodiscard]] Peer* find_peer(const EndpointName& name) const noexcept;
    void remove_peer(Peer& peer) noexcept;
    bool send_own_name(Peer& peer, MessageKind kind) noexcept;
    void watch_process(Peer& peer, Nanoseconds now) noexcept;
    void watch_silence(Peer& peer, Nanoseconds now) noexcept;
    void watch_blocked(Peer& peer, Nanoseconds now) noexcept;
    static void rx_complete(Operation& op, const Completion& completion) noexcept;
    static void tx_complete(Operation& op, const Completion& completion) noexcept;

    std::shared_ptr<Domain> domain_;
    Endpoint* lead_;  ///< this one, if it is on its own
    Mutex own_mutex_;
    std::size_t packet_bytes_;
    AddressVectorPtr av_;
    CompletionQueuePtr cq_;
    EndpointPtr ep_;
    EndpointName name_;
    PacketPool<RxPacket> rx_pool_;
    PacketPool<TxPacket> tx_pool_;
    PortTable ports_;
    std::vector<std::unique_ptr<Peer>> peers_;
    HostIdentity self_;
    bool writes_take_receives_;  ///< see Quirk
    bool carries_sizes_;  ///< remote CQ data has room for a size beside the word
    std::vector<std::unique_ptr<PortOwner>> orphans_;
    std::vector<std::unique_ptr<PortOwner>> finished_orphans_;
    std::vector<Peer*> active_;
    RxPacket* unposted_ = nullptr;  ///< receive packets to be posted
    std::uint32_t waiting_to_post_ = 0;
    std::uint32_t posted_ = 0;          ///< receive packets in the provider's hands
    std::uint32_t receive_target_ = 0;
    std::uint64_t completions_ = 0;
    std::atomic<int> wait_fd_{-1};
    bool queue_wakes_ = false;   ///< wait_fd_ is the queue's, not the bell's
    UniqueFd bell_;              ///< others ring it before they send, if it has been quiet
    std::uint32_t passive_targets_ = 0;
    bool writes_tell_placed_ = true;   ///< the provider has not refused to
    bool injects_tell_placed_ = true;
    bool said_goodbye_ = false;
    bool closing_ = false;
    std::uint32_t reads_in_flight_ = 0;  ///< whoever still waits for them
    bool served_ = false;  ///< known to the service thread
    std::atomic<std::uint64_t> polls_{0};
    std::atomic<bool> wants_poll_{false};
    std::atomic<Nanoseconds> tick_time_;
};

}  // namespace duofi::ofi
