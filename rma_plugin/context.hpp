// What createContext returns: streams of operations that belong together. Requests live here; order does not: a lane
// serves all contexts of its group, which promises more than is asked (G-5). Created and destroyed by any thread; the
// rest with the endpoint's lock held, except where marked.
#pragma once

#include <cstdint>

#include "rma_plugin/caller_objects.hpp"
#include "rma_plugin/request_pool.hpp"

namespace duofi::rma {

class Group;
class Lane;

class Context {
  public:
    /// `count`: streams, 1 or more.
    Context(Group& group, int count);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    [[nodiscard]] Group& group() const noexcept { return group_; }
    /// Is this the index of one of the streams? No lock.
    [[nodiscard]] bool has_stream(int index) const noexcept { return index >= 0 && index < count_; }

    /// Throws std::bad_alloc.
    [[nodiscard]] Request& acquire_request();
    void finish(Request& request) noexcept;
    void fail(Request& request, ncclResult_t result) noexcept;
    /// The caller knows the outcome.
    void retire(Request& request) noexcept;
    /// A retired request has come back from the provider.
    void reuse(Request& request) noexcept { pool_.release(request); }
    [[nodiscard]] std::uint32_t outstanding() const noexcept { return outstanding_; }

    /// Every request, in use or not.
    template <typename F>
    void for_each_request(F&& f) {
        pool_.for_each_slot(f);
    }
    /// Fails what waits in this lane with ncclRemoteError.
    void fail_requests(const Lane& lane) noexcept;
    /// Waits a bounded time for what is outstanding, then takes it back from the lanes. No lock held.
    void drain(Nanoseconds limit);

    /// Sticky: an operation has failed (queryLastError). Kept in the caller's pointer, which outlives us.
    void set_failed() noexcept {
        if (handle != nullptr) handle->failed.store(true, std::memory_order_relaxed);
    }

    ObjectHandle* handle = nullptr;  ///< the caller's pointer

  private:
    void abandon() noexcept;

    Group& group_;
    int count_;
    RequestPool pool_;
    std::uint32_t outstanding_ = 0;
};

}  // namespace duofi::rma
