// Requests of one context. Grows as long as there is memory: a full pool is no answer here. The memory goes
// back to the process-wide slab when the context ends. Lock of the endpoint held.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "common/util/handle_slab.hpp"
#include "rma_plugin/request.hpp"

namespace duofi::rma {

struct RequestChunk {
    static constexpr std::size_t kSlots = 32;
    std::array<Request, kSlots> slots;
};
using RequestSlab = HandleSlab<RequestChunk, 4>;

class RequestPool {
  public:
    explicit RequestPool(RequestSlab& slab) : slab_(slab) {}
    RequestPool(const RequestPool&) = delete;
    RequestPool& operator=(const RequestPool&) = delete;
    ~RequestPool();

    /// A pending request with everything else at its start. Throws std::bad_alloc.
    [[nodiscard]] Request& acquire(Context& context, Nanoseconds now);
    /// Back to the pool.
    void release(Request& request) noexcept;

    /// The provider may still write into operations of these requests: their memory is never used again.
    void keep_memory() noexcept { keep_memory_ = true; }

    template <typename F>
    void for_each_slot(F&& f) {
        for (RequestChunk* chunk : chunks_)
            for (Request& slot : chunk->slots) f(slot);
    }
    template <typename F>
    void for_each_pending(F&& f) {
        for_each_slot([&](Request& slot) {
            if (slot.pending()) f(slot);
        });
    }

  private:
    void grow();

    RequestSlab& slab_;
    std::vector<RequestChunk*> chunks_;
    Request* free_ = nullptr;
    bool keep_memory_ = false;
};

}  // namespace duofi::rma
