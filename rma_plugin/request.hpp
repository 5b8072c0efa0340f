// What iput, iputSignal, iget and iflush give to the caller and what test looks at (rma contract 3.5, 3.8). Fields other
// than the state are guarded by the endpoint's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"
#include "common/ofi/operation.hpp"
#include "common/util/clock.hpp"
#include "common/util/slot_pool.hpp"

namespace duofi::rma {

class Context;
class Lane;
struct Request;

/// What the provider works on. Unowned once the context has ended before it.
struct Transfer : ofi::Operation {
    Request* request = nullptr;
};

/// The signal half of iputSignal.
struct Signal {
    bool wanted = false;
    std::uint32_t window = 0;  ///< id, equal on all ranks
    std::uint64_t offset = 0;  ///< bytes from the target's base (M-3)
    std::uint64_t addend = 0;  ///< 1 for INC (G-2)
};

struct Request {
    static constexpr std::uint64_t kMagic = 0x64756f66726d6171;  // "duofrmaq"

    std::uint64_t magic = kMagic;
    std::atomic<RequestState> state{RequestState::free};
    ncclResult_t result = ncclSuccess;
    Context* context = nullptr;
    Lane* lane = nullptr;
    Nanoseconds started = 0;  ///< service tick time
    bool stall_told = false;
    bool get = false;
    bool in_flight = false;   ///< a piece is in the provider's hands
    bool applied = false;     ///< the target has it, or its word is not asked for
    bool confirmed = false;   ///< the provider's completion says that the target has it
    bool cut_short = false;   ///< a get whose target has withdrawn its memory before all pieces were asked for
    bool retired = false;     ///< the caller knows; the slot is free when the provider lets go of it
    Transfer transfer;

    std::byte* local = nullptr;
    std::size_t size = 0;     ///< bytes
    std::size_t posted = 0;   ///< bytes handed to the provider so far
    void* descriptor = nullptr;
    std::uint64_t remote_address = 0;
    std::uint64_t remote_key = 0;
    std::uint32_t remote_window = 0;  ///< id; 0 = no data
    std::uint32_t local_window = 0;
    Signal signal;
    std::uint64_t sequence = 0;  ///< place in the lane's order

    Request* next = nullptr;       ///< in the lane's queue it stands in
    Request* next_free = nullptr;  ///< in the pool

    [[nodiscard]] bool pending() const noexcept {
        return state.load(std::memory_order_relaxed) == RequestState::pending;
    }
};

/// First in, first out; does not own.
class RequestQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] Request* head() const noexcept { return head_; }
    void push(Request& request) noexcept {
        request.next = nullptr;
        (tail_ != nullptr ? tail_->next : head_) = &request;
        tail_ = &request;
    }
    void pop() noexcept {
        head_ = head_->next;
        if (head_ == nullptr) tail_ = nullptr;
    }
    void clear() noexcept { head_ = tail_ = nullptr; }
    /// Takes out what `f` says true to.
    template <typename F>
    void remove_if(F&& f) noexcept {
        Request* rest = head_;
        clear();
        while (rest != nullptr) {
            Request* request = rest;
            rest = rest->next;
            if (!f(*request)) push(*request);
        }
    }

  private:
    Request* head_ = nullptr;
    Request* tail_ = nullptr;
};

}  // namespace duofi::rma
