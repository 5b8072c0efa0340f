// One direction of one edge as a kernel holds it: the wired descriptor and what this end remembers.
// Made once after connecting, from then on the only user of the descriptor's `step`; kept for as
// long as the connection. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/abi.h"
#include "p2p/kernels/counters.hpp"
#include "p2p/kernels/pointer_exchange.hpp"
#include "p2p/kernels/protocol.hpp"
#include "p2p/kernels/shared_memory_access.hpp"

namespace duofi::p2p {

struct LinkOptions {
    LlRule ll{};
    /// A proxy consumes sizesFifo (NET): wire bytes, and nothing comes back. Otherwise a sizesFifo
    /// that is not NULL means that the receiver checks every step (T-7).
    bool proxied = false;
};

/// What both directions have in common.
class Link {
  public:
    [[nodiscard]] const BufferSizes& sizes() const noexcept { return sizes_; }
    [[nodiscard]] bool direct() const noexcept { return (conn_->direct & NCCL_DIRECT_GPU) != 0; }
    [[nodiscard]] const LlRule& ll() const noexcept { return options_.ll; }

  protected:
    Link(ncclConnInfo* conn, const BufferSizes& sizes, const LinkOptions& options) noexcept
        : conn_(conn), sizes_(sizes), options_(options) {}
    [[nodiscard]] std::byte* slot_of(Protocol protocol, std::uint64_t step) const noexcept {
        return reinterpret_cast<std::byte*>(conn_->buffs[static_cast<std::size_t>(protocol)]) +
               step % kSteps * sizes_.slot(protocol);
    }
    /// Room of `bytes` in the `n` slots from `step` on; a proxy expects them at the start.
    [[nodiscard]] std::byte* room_of(Protocol protocol, std::uint64_t step, std::size_t bytes,
                                     std::uint64_t n) const noexcept {
        const std::size_t room = sizes_.slot(protocol) * n;
        return slot_of(protocol, step) + (options_.proxied ? 0 : place_in_room(step, bytes, room));
    }
    /// LL stays at the start of its slot: its cleaning counts on it (C-42).
    [[nodiscard]] std::uint64_t* lines_of(Protocol protocol, std::uint64_t step,
                                          std::size_t bytes) const noexcept {
        return reinterpret_cast<std::uint64_t*>(
            protocol == Protocol::ll
                ? slot_of(protocol, step)
                : room_of(protocol, step, ll128_lines(bytes) * kLl128LineBytes, 1));
    }
    [[nodiscard]] std::uint64_t* pointer_slot() const noexcept {
        return reinterpret_cast<std::uint64_t*>(conn_->ptrExchange);
    }
    [[nodiscard]] bool checks_sizes() const noexcept {
        return conn_->sizesFifo != nullptr && !options_.proxied;
    }

    ncclConnInfo* conn_;
    BufferSizes sizes_;
    LinkOptions options_;
};

class SendLink : public Link {
  public:
    SendLink(ncclConnInfo* conn, const BufferSizes& sizes, const LinkOptions& options = {});

    void begin(std::uint64_t unit) noexcept { counters_.round_up(unit); }
    [[nodiscard]] std::uint64_t step() const noexcept { return counters_.step(); }
    /// Room for the `bytes` of the next `n` steps of SIMPLE; credit is needed before it is written.
    [[nodiscard]] std::byte* room(std::size_t bytes, std::uint64_t n) const noexcept {
        return room_of(Protocol::simple, counters_.step(), bytes, n);
    }
    /// The lines of the next step, of `bytes` payload, of LL or LL128.
    [[nodiscard]] std::uint64_t* lines(Protocol protocol, std::size_t bytes) const noexcept {
        return lines_of(protocol, counters_.step(), bytes);
    }
    [[nodiscard]] bool has_credit(std::uint64_t n) { return counters_.has_credit(n); }
    [[nodiscard]] KernelResult await_credit(std::uint64_t n, Waiter& waiter) {
        return counters_.await_credit(n, waiter);
    }
    [[nodiscard]] bool failed() const noexcept { return counters_.failed(); }

    /// SIMPLE: `n` steps with together `bytes` are written.
    void publish(std::uint64_t n, std::size_t bytes);
    /// LL and LL128, in front of the first line: the size of the step, where someone asks for it.
    void announce(Protocol protocol, std::size_t bytes) {
        if (checks_sizes()) [[unlikely]]
            store_size(protocol, bytes);
    }
    /// LL and LL128, behind the last line.
    void finish_lines(Protocol protocol, std::size_t bytes) {
        if (conn_->sizesFifo || counters_.step() >= next_clean_) [[unlikely]]
            return finish_rare_lines(protocol, bytes);
        counters_.advance(1);
        counters_.look_ahead();
    }

    [[nodiscard]] bool poll_buffer(OfferedBuffer& offered) {
        return take_buffer<HardwareMemory>(pointer_slot(), offered);
    }
    [[nodiscard]] KernelResult await_offer(OfferedBuffer& offered, Waiter& waiter) {
        return await_buffer<HardwareMemory>(pointer_slot(), offered, waiter);
    }
    /// The operation is over: the next one, perhaps of another link, starts from here.
    void finish() noexcept { conn_->step = counters_.step(); }

  private:
    void store_size(Protocol protocol, std::size_t payload);
    void store_size(std::size_t wire_bytes, std::size_t payload);
    void finish_rare_lines(Protocol protocol, std::size_t bytes);
    void clean_until(std::uint64_t end);

    SendCounters<HardwareMemory> counters_;
    std::uint64_t next_clean_;  // first step whose LL slot is still to be cleaned (C-42)
};

class RecvLink : public Link {
  public:
    RecvLink(ncclConnInfo* conn, const BufferSizes& sizes, const LinkOptions& options = {});

    void begin(std::uint64_t unit) { counters_.round_up(unit); }
    [[nodiscard]] std::uint64_t step() const noexcept { return counters_.step(); }
    [[nodiscard]] const std::byte* room(std::size_t bytes, std::uint64_t n) const noexcept {
        return room_of(Protocol::simple, counters_.step(), bytes, n);
    }
    [[nodiscard]] std::uint64_t* lines(Protocol protocol, std::size_t bytes) const noexcept {
        return lines_of(protocol, counters_.step(), bytes);
    }
    /// SIMPLE.
    [[nodiscard]] bool has_data(std::uint64_t n) { return counters_.has_data(n); }
    [[nodiscard]] KernelResult await_data(std::uint64_t n, Waiter& waiter) {
        return counters_.await_data(n, waiter);
    }
    [[nodiscard]] bool failed() const noexcept { return counters_.failed(); }
    /// LL and LL128, one look: has the step of `bytes` begun to arrive?
    [[nodiscard]] bool lines_arrived(Protocol protocol, std::size_t bytes) const;

    /// Before the data of a step are used: compares the sender's size with `bytes`, where it is
    /// given.
    [[nodiscard]] KernelResult check_size(std::size_t bytes, Waiter& waiter) {
        if (!checks_sizes()) [[likely]]
            return KernelResult::ok;
        return compare_size(bytes, waiter);
    }
    void release(std::uint64_t n) { counters_.release(n); }

    void offer(void* buffer, std::size_t bytes) {
        offer_buffer<HardwareMemory>(pointer_slot(), reinterpret_cast<std::uint64_t>(buffer),
                                     bytes);
    }
    void finish() noexcept { conn_->step = counters_.step(); }

  private:
    [[nodiscard]] KernelResult compare_size(std::size_t bytes, Waiter& waiter);

    RecvCounters<HardwareMemory> counters_;
};

}  // namespace duofi::p2p
