#include "p2p/transport/edge.hpp"

#include <cstdint>
#include <cstring>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "common/util/scope_exit.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/runtime/runtime.hpp"

namespace duofi::p2p {
namespace {

const ncclPeerInfo& info_of(const ncclComm& comm, int rank) noexcept {
    return comm.peer_info[static_cast<std::size_t>(rank)];
}

unsigned long long bus(const ncclPeerInfo& info) noexcept {
    return static_cast<unsigned long long>(info.busId);
}

/// A peer may name an address inside a mapping that is smaller than what will be used of it.
Status check_extent(const ncclComm& comm, int owner, const void* memory, std::size_t bytes) {
    DUOFI_ASSIGN(const PointerInfo found, runtime::pointer_info(memory));
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(memory) -
                                                 static_cast<const std::byte*>(found.base));
    if (offset == 0 && found.bytes >= bytes) return {};
    log::warn(kSetupLog, messages::kP2pSmallMemory, comm.rank, owner, found.bytes - offset, offset,
              bytes);
    return fail(Errc::remote, "connect");
}

Status enable_access(const ncclPeerInfo& owner) {
    const Status enabled = runtime::enable_peer_access(owner.cudaDev);
    if (enabled) return {};
    log::warn(kSetupLog, messages::kP2pPeerFailed, owner.cudaDev, bus(owner),
              enabled.error().provider_errno, to_string(enabled.error().code));
    return fail(Errc::internal, "enable peer access");
}

Result<Mapping> map_here(const ncclComm& comm, const p2pConnectInfo& info) {
    const ncclPeerInfo& me = info_of(comm, comm.rank);
    const ncclPeerInfo& owner = info_of(comm, info.rank);
    if (me.cudaDev != owner.cudaDev) DUOFI_TRY(enable_access(owner));
    if (info.rank == comm.rank) return Mapping{.memory = info.directPtr};
    DUOFI_TRY(runtime::retain(info.directPtr));
    return Mapping{.memory = info.directPtr, .retained = info.directPtr};
}

}  // namespace

bool same_process(const ncclComm& comm, int peer) noexcept {
    return peer == comm.rank || share_pointers(comm.topo, info_of(comm, peer), info_of(comm, comm.rank));
}

Result<Mapping> map_memory(const ncclComm& comm, const p2pConnectInfo& info, std::size_t bytes) {
    Mapping mapping;
    if (same_process(comm, info.rank)) {
        DUOFI_ASSIGN(mapping, map_here(comm, info));
    } else {
        // Handles that mean nothing leave the pointer alone: it is right where they are (T-5).
        mapping.memory = info.directPtr;
        DUOFI_TRY(runtime::ipc_open(&mapping.memory, info.devIpc));
        mapping.ipc = mapping.memory;
        if (runtime::has(kUnified) && runtime::retain(mapping.memory))
            mapping.retained = mapping.memory;
    }
    const auto undo = [&mapping] { static_cast<void>(unmap(mapping)); };
    ScopeExit undo_on_failure(undo);
    DUOFI_TRY(check_extent(comm, info.rank, mapping.memory, bytes));
    undo_on_failure.release();
    return mapping;
}

Status unmap(const Mapping& mapping) {
    Status result;
    if (mapping.ipc != nullptr) result = runtime::ipc_close(mapping.ipc);
    if (mapping.retained != nullptr) {
        const Status released = runtime::release(mapping.retained);
        if (result) result = released;
    }
    return result;
}

void log_edge(const ncclComm& comm, const Edge& edge) {
    const ncclPeerInfo& me = info_of(comm, comm.rank);
    const ncclPeerInfo& peer = info_of(comm, edge.peer);
    const char* suffix = edge.read ? "/read" : "";
    switch (edge.mode) {
        case WireMode::direct:
            log::info(kSetupLog, messages::kP2pDirect, edge.channel, me.rank, bus(me), peer.rank,
                      bus(peer), suffix);
            return;
        case WireMode::ipc:
            log::info(kSetupLog, messages::kP2pIpc, edge.channel, me.rank, bus(me), peer.rank, bus(peer),
                      suffix);
            return;
        case WireMode::relay:
            const ncclPeerInfo& relay = info_of(comm, edge.base.memRank);
            log::info(kSetupLog, messages::kP2pIndirect, edge.channel, me.rank, bus(me), peer.rank,
                      bus(peer), relay.rank, bus(relay), suffix);
            return;
    }
}

const char* to_string(WireMode mode) noexcept {
    switch (mode) {
        case WireMode::direct:
            return "P2P/direct pointer";
        case WireMode::ipc:
            return "P2P/IPC";
        case WireMode::relay:
            return "P2P/indirect";
    }
    return "";
}

}  // namespace duofi::p2p
