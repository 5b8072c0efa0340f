// The ordered stream of one group to one other rank: puts as one-sided writes, each signal as a message behind its data
// (rma contract 5.7 b1). The target adds to the word when the message arrives, so everything issued before it is there
// already (G-5), and answers how far it has come, so `done` means applied at the target (E-4). Lock of the endpoint held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/ofi/endpoint.hpp"
#include "common/ofi/handshake.hpp"
#include "rma_plugin/request.hpp"

namespace duofi::rma {

class Group;

/// Payload of rma_signal.
struct SignalBody {
    std::uint64_t addend = 0;
    std::uint64_t sequence = 0;  ///< of the operation in its lane
    std::uint32_t index = 0;     ///< signals of this lane so far: a gap means a lost one
    std::uint32_t answer = 0;    ///< 1 = say when it is applied
};
static_assert(sizeof(SignalBody) == 24);

class Lane : private ofi::PeerUser, private ofi::Flushable {
  public:
    Lane(Group& group, std::uint32_t rank) : group_(group), rank_(rank) {}

    /// Finds the peer behind a handle's name. Errors: invalid_argument, logged.
    [[nodiscard]] Status open(const ofi::EndpointName& name);
    /// Says goodbye, `connected` or because connect has failed, and forgets the peer. Nothing may wait in the lane.
    void close(bool connected) noexcept;

    /// The rank has introduced itself.
    void join(const ofi::Hello& hello) noexcept;
    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
    [[nodiscard]] bool joined() const noexcept { return remote_port_ != 0; }
    /// Nothing can be sent to the rank any more: lost, or it has left the group.
    [[nodiscard]] bool gone() const noexcept { return lost_ || left_; }
    /// By evidence, without having left.
    [[nodiscard]] bool lost() const noexcept { return lost_ && !left_; }
    [[nodiscard]] ofi::Peer* peer() const noexcept { return peer_; }
    /// Is it worth while to ask the rank something and wait for the answer?
    [[nodiscard]] bool answers() const noexcept { return joined() && !gone() && (!silent_ || peer_->heard != silent_at_); }
    /// It did not answer: not asked again until something comes from it.
    void set_silent() noexcept {
        silent_ = true;
        silent_at_ = peer_->heard;
    }

    /// Takes the operation; it is done or failed later, exactly once. The caller has checked gone().
    void post(Request& request) noexcept;
    /// Takes what has not been posted, and what only waits for an answer, of a context that ends.
    void abandon(const Context& context) noexcept;
    /// A transfer that the provider still holds has lost its context: the lane looks after it.
    void adopt(Request& orphan);
    /// Does the provider still work on our part of the window?
    [[nodiscard]] bool works_on(std::uint32_t local_window) const noexcept;

    /// A control message to the rank; false if it is gone.
    bool send(ofi::MessageKind kind, std::uint32_t word, std::uint64_t value,
              std::span<const std::byte> payload) noexcept;

    /// The rank closes its part of a window: nothing more goes there. It is told when no read of ours is under way.
    void withdraw(std::uint32_t window) noexcept;

    void on_signal(const ofi::Message& message) noexcept;
    void on_mark(std::uint64_t sequence) noexcept;
    void on_applied(std::uint64_t sequence) noexcept;
    void on_left() noexcept;

    static void transfer_complete(ofi::Operation& op, const ofi::Completion& completion) noexcept;

  private:
    void on_peer_lost() noexcept override;
    [[nodiscard]] bool waiting() const noexcept override;
    void on_tick(Nanoseconds now) noexcept override;
    void flush() noexcept override;

    void pump() noexcept;
    [[nodiscard]] bool post_head(Request& request) noexcept;
    [[nodiscard]] bool post_pieces(Request& request) noexcept;
    [[nodiscard]] bool worth_confirming(const Request& request, std::size_t piece) const noexcept;
    [[nodiscard]] bool send_signal(Request& request) noexcept;
    void send_mark() noexcept;
    void send_answer() noexcept;
    void settle(Request& request) noexcept;
    void piece_done(Request& request, const ofi::Completion& completion) noexcept;
    void fail_all() noexcept;
    [[nodiscard]] static bool withdraw_get(Request& request) noexcept;
    void answer_withdrawals() noexcept;
    [[nodiscard]] ofi::MessageHeader header_for(ofi::MessageKind kind) const noexcept;

    Group& group_;
    std::uint32_t rank_;
    ofi::Peer* peer_ = nullptr;
    std::uint32_t remote_port_ = 0;
    bool lost_ = false;
    bool left_ = false;
    bool silent_ = false;
    std::uint64_t silent_at_ = 0;   ///< peer_->heard when it was found silent
    std::vector<std::uint32_t> withdrawn_;  ///< windows whose closing waits for our reads

    // sending
    RequestQueue unposted_;        ///< in the order of the calls
    RequestQueue unapplied_;       ///< posted, in the order of their sequence
    std::uint64_t issued_ = 0;     ///< operations that have left unposted_ (gets not counted)
    std::uint64_t told_ = 0;       ///< of these, how many a mark or signal has covered
    std::uint32_t signals_ = 0;
    std::uint32_t in_provider_ = 0;
    std::vector<Request*> orphans_;  ///< transfers in the provider whose contexts have ended
    bool pumping_ = false;
    bool pump_again_ = false;

    // receiving
    std::uint64_t received_ = 0;   ///< operations of the rank that are applied here
    std::uint64_t answered_ = 0;   ///< of these, how many it knows of
    std::uint32_t signals_received_ = 0;
};

}  // namespace duofi::rma
