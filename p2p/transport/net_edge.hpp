// What a NET connector keeps from setup to free: FIFO memory of its own, the comm of the plugin, the
// requests of its proxy (p2p contract 5.2). The communicator's thread makes and frees it; in between
// the proxy thread owns everything behind `step`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/kernels/ll.hpp"
#include "p2p/kernels/protocol.hpp"
#include "p2p/transport/comm.hpp"
#include "p2p/transport/net_api.hpp"

namespace duofi::p2p {

class NetContext;

/// Memory of both headers and of all buffers, zero-filled, pages on demand where CPUs run the
/// kernels.
class NetMemory {
  public:
    NetMemory() = default;
    NetMemory(const NetMemory&) = delete;
    NetMemory& operator=(const NetMemory&) = delete;
    ~NetMemory();
    [[nodiscard]] Status make(std::size_t bytes);
    [[nodiscard]] char* get() const noexcept { return memory_; }

  private:
    char* memory_ = nullptr;
    std::size_t bytes_ = 0;
    bool of_runtime_ = false;
};

/// A buffer that the plugin knows. For LL and LL128 of a receiver it is not the one that kernels
/// poll: lines arrive here in any order and are then stored there in theirs.
struct NetBuffer {
    char* wire = nullptr;
    char* fifo = nullptr;
    std::size_t bytes = 0;
    void* mhandle = nullptr;
};

/// The operation whose turn it is: absolute steps (p2p contract 5.3).
struct NetProgress {
    std::uint64_t posted = 0, received = 0, transmitted = 0, done = 0, end = 0;
};

struct NetEdge {
    NetEdge(ncclComm& of_comm, Direction d) : comm(&of_comm), direction(d) {}
    ~NetEdge();
    NetEdge(const NetEdge&) = delete;
    NetEdge& operator=(const NetEdge&) = delete;

    /// Memory and where everything lies in it.
    [[nodiscard]] Status make_memory();
    /// Fills what kernels see of it.
    void wire(ncclConnInfo& conn) const noexcept;
    /// The plugin learns of the buffer of that protocol, once. Communicator's thread.
    [[nodiscard]] Status know_buffer(Protocol protocol);
    /// Steps whose requests are with the plugin.
    [[nodiscard]] bool busy() const noexcept;
    [[nodiscard]] bool sends() const noexcept { return direction == Direction::send; }

    ncclComm* comm;
    Direction direction;
    int channel = 0;
    int peer = -1;
    int device = 0;
    int tag = 0;
    std::shared_ptr<NetContext> context;
    void* listener = nullptr;
    void* net_comm = nullptr;
    NetMemory memory;
    ncclSendMem* send_mem = nullptr;
    ncclRecvMem* recv_mem = nullptr;
    std::array<NetBuffer, NCCL_NUM_PROTOCOLS> buffers;

    std::uint64_t step = 0;  ///< where the next operation begins, but for its rounding
    NetProgress now;
    LlRule ll{};
    std::uint64_t next_clean = LlRule{}.next_clean(0);
    std::array<void*, NCCL_STEPS> requests{};
};

}  // namespace duofi::p2p
