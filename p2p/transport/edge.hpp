// What a P2P connector keeps from setup to free: the 32 bytes of p2p contract 1.6 and, behind them,
// what those have no room for. One thread at a time per connector.
#pragma once

#include <cstddef>
#include <type_traits>

#include "common/util/error.hpp"
#include "p2p/abi.h"
#include "p2p/transport/comm.hpp"

namespace duofi::p2p {

/// How an end reaches the memory of the other one.
enum class WireMode { direct, ipc, relay };

/// Memory of another end as this process sees it.
struct Mapping {
    void* memory = nullptr;
    void* ipc = nullptr;       ///< to be closed, or NULL
    void* retained = nullptr;  ///< to be released, or NULL (T-13)
};

struct Edge {
    p2pResources base{nullptr, nullptr, -1, 0, nullptr};
    Direction direction = Direction::send;
    WireMode mode = WireMode::direct;
    bool read = false;
    bool relay_support = false;  ///< free may give `base.remoteId` back
    int channel = 0;
    int peer = -1;
    std::size_t bytes = 0;  ///< of my FIFO memory
    Mapping own;            ///< of my FIFO memory, if a relay owns it (T-8)
    Mapping peers;          ///< of the peer's FIFO memory; base.ipcPtr is that of this one
    unsigned reserved = 0;  ///< bits of protocols whose buffers have pages
};
static_assert(std::is_standard_layout_v<Edge> && offsetof(Edge, base) == 0);

[[nodiscard]] inline Edge& edge_of(const ncclConnector& connector) noexcept {
    return *static_cast<Edge*>(connector.transportResources);
}

/// True when raw pointers of that rank are mine.
[[nodiscard]] bool same_process(const ncclComm& comm, int peer) noexcept;

/// p2pMap (p2p contract 1.15) for memory of `info.rank`, of which at least `bytes` must be there.
/// Errors: those of the runtime, Errc::remote when the memory is smaller.
[[nodiscard]] Result<Mapping> map_memory(const ncclComm& comm, const p2pConnectInfo& info,
                                         std::size_t bytes);
[[nodiscard]] Status unmap(const Mapping& mapping);

/// The channel line (C-20).
void log_edge(const ncclComm& comm, const Edge& edge);

/// "P2P/direct pointer", "P2P/IPC", "P2P/indirect".
[[nodiscard]] const char* to_string(WireMode mode) noexcept;

}  // namespace duofi::p2p
