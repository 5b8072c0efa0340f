// What isend, irecv and iflush give to the caller and what test looks at (net contract 3.5).
#pragma once

#include <atomic>
#include <cstdint>

#include "common/abi/host_types.h"
#include "common/util/clock.hpp"
#include "common/util/slot_pool.hpp"

namespace duofi::net {

class Request;

/// Side of a comm that test needs. Implemented by the comms of a protocol.
class RequestOwner {
  public:
    virtual ~RequestOwner() = default;
    /// Moves the endpoint on once, unless nothing can come of it.
    virtual void progress(Request& request) = 0;
    /// The request is done or failed and has been reported: back to the pool.
    virtual void retire(Request& request) = 0;
    /// Result for requests that are still pending, once the comm has failed; ncclSuccess before (A20).
    [[nodiscard]] virtual ncclResult_t failure() const noexcept = 0;
};

class Request {
  public:
    static constexpr std::uint64_t kMagic = 0x64756f6672657131;  // "duofreq1"
    static constexpr int kMaxSizes = 8;

    std::uint64_t magic = kMagic;
    std::atomic<RequestState> state{RequestState::free};
    ncclResult_t result = ncclSuccess;
    RequestOwner* owner = nullptr;
    Nanoseconds started = 0;  ///< service tick time
    bool stall_told = false;
    int size_count = 0;       ///< entries of `sizes`
    int sizes[kMaxSizes] = {};

    void finish() noexcept { state.store(RequestState::done, std::memory_order_release); }
    void fail_with(ncclResult_t code) noexcept {
        result = code;
        state.store(RequestState::failed, std::memory_order_release);
    }
    [[nodiscard]] bool pending() const noexcept {
        return state.load(std::memory_order_relaxed) == RequestState::pending;
    }
};

/// The body of the table's test entry. `sizes` may be NULL; exactly size_count entries are written.
[[nodiscard]] ncclResult_t test_request(Request* request, int* done, int* sizes);

}  // namespace duofi::net
