// Requests of one context. Grows as long as there is memory: a full pool is no answer here. The memory goes
// back to the process-wide slab when the context ends. Lock of the endpoint held.
#pragma once

#include "common/util/slot_pool.hpp"
#include "rma_plugin/request.hpp"

namespace duofi::rma {

class RequestPool : public SlotPool<Request, 32> {
  public:
    using SlotPool::SlotPool;

    /// A pending request with everything else at its start. Throws std::bad_alloc.
    [[nodiscard]] Request& acquire(Context& context, Nanoseconds now);
};

using RequestChunk = RequestPool::Chunk;
using RequestSlab = RequestPool::Slab;

}  // namespace duofi::rma
