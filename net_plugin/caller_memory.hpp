// Memory behind every pointer that callers hold: it stays readable until the library is unloaded, so that use
// after close is told instead of a crash. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/util/clock.hpp"
#include "common/util/handle_slab.hpp"
#include "net_plugin/memory_handle.hpp"
#include "net_plugin/neuron/rma_request.hpp"
#include "net_plugin/request_pool.hpp"
#include "net_plugin/comms/recv_request.hpp"
#include "net_plugin/comms/send_request.hpp"

namespace duofi::net {

class Comm;

enum class CommKind : std::uint32_t { none = 0, connecting, send, recv, listen };

/// What a caller's comm pointer points to.
struct CommHandle {
    static constexpr std::uint64_t kMagic = 0x64756f6669636f6d;  // "duoficom"
    std::uint64_t magic = kMagic;
    CommKind kind = CommKind::none;
    Comm* comm = nullptr;            ///< null once closed
    std::uint64_t generation = 0;    ///< of a connection attempt
    std::atomic<Nanoseconds> last_call{0};  ///< of a connection attempt; other threads look for abandoned ones
};

struct CallerMemory {
    HandleSlab<CommHandle> comm_handles;
    HandleSlab<MemoryHandle> memory_handles;
    RequestSlab<SendRequest> send_requests;
    RequestSlab<RecvRequest> recv_requests;
    RequestSlab<RmaRequest> rma_requests;
};

/// Made at first use. Freed by drop_caller_memory, which unloading calls when nothing is open.
[[nodiscard]] CallerMemory& caller_memory();
void drop_caller_memory() noexcept;

}  // namespace duofi::net
