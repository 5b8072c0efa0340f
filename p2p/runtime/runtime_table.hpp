// The table behind which memory, devices and handles of one kind of machine stand (p2p contract 2.1). Offsets of the
// slots are fixed: those at 0x60, 0x68, 0x80, 0x88, 0x98, 0xA0 and 0xD0 by the base that we follow, the rest by us.
// Slots may be called from any thread, but init and finalize, of which the dispatcher serialises the calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/abi.h"
#include "p2p/runtime/relay_address.hpp"

namespace duofi::p2p {

/// What slots return: 0, a value of duofi::Errc, or one of these.
enum RuntimeCode : int { kRuntimeOk = 0, kPeerAccessAlreadyEnabled = P2P_PEER_ACCESS_ALREADY };

/// Bits of RuntimeTable::capabilities.
enum Capability : std::uint64_t {
    kUnified = 1U << 0,          ///< raw pointers of any rank are valid everywhere
    kHostAccessible = 1U << 1,   ///< CPUs may read and write
    kRealIpc = 1U << 2,          ///< handles carry memory to other processes
    kIpcInterior = 1U << 3,      ///< handles may point inside an allocation
    kSameProcessIpc = 1U << 4,   ///< a handle may be opened by the process that made it
    kHugePages = 1U << 5,
    kNumaBind = 1U << 6,
    kRelay = 1U << 7,            ///< remote_alloc and remote_free work (p2p contract 2.8)
};

/// Kinds of copies, 0 to 4.
enum class CopyKind : int { host_to_host, host_to_device, device_to_host, device_to_device, automatic };

/// -1 = unknown.
struct DeviceInfo {
    std::int32_t family = 0;
    std::int32_t mla_index = -1;
    std::int32_t tpb_index = -1;
    std::int32_t virtual_core_size = 1;
    std::int32_t host_device = -1;
    std::int32_t routing_id = -1;
    std::int32_t pod_type = 0;
    std::int32_t pod_node = -1;
    std::int32_t pod_size = 0;
    std::int32_t numa_node = -1;
    std::uint64_t pod_id = 0;
    std::int32_t compute_cap = -1;    ///< 80 for 8.0
    std::int32_t virtual_server = 0;  ///< ranks of different ones are on different hosts
};

struct PointerInfo {
    void* base = nullptr;
    std::size_t bytes = 0;
    int device = -1;
    bool imported = false;  ///< belongs to another process
};

/// Points in time of work that the runtime does in the background. Events are owned by the caller.
struct EventTable {
    int (*create)(void** event);
    int (*destroy)(void* event);
    int (*record)(void* event);
    int (*query)(void* event);        ///< 0: everything before it is done
    int (*synchronize)(void* event);  ///< waits for that
    int (*elapsed_us)(void* from, void* to, double* microseconds);
};

struct RuntimeTable {
    const char* name;
    int (*init)();
    int (*finalize)();
    std::uint64_t (*capabilities)();
    int (*get_device_count)(int* count);
    int (*set_device)(int device);  ///< of the calling thread
    int (*get_device)(int* device);
    int (*device_family)(int device, int* family);
    int (*device_info)(int device, DeviceInfo* info);
    int (*device_by_pci_bus_id)(std::int64_t bus_id, int* device);
    int (*device_pci_bus_id)(int device, std::int64_t* bus_id);
    int (*device_numa_node)(int device, int* node);
    int (*device_can_access_peer)(int* can, int device, int peer);
    int (*device_enable_peer_access)(int peer, unsigned flags);
    int (*device_disable_peer_access)(int peer);
    int (*ipc_domain_id)(std::uint64_t* id);
    /// May leave `*memory` alone (unified). `flags` is P2P_IPC_LAZY_PEER_ACCESS.
    int (*ipc_open_mem_handle)(void** memory, const p2pIpcHandle* handle, unsigned flags);
    int (*ipc_get_mem_handle)(p2pIpcHandle* handle, void* memory);
    int (*ipc_close_mem_handle)(void* memory);
    /// Zero-filled.
    int (*malloc)(void** memory, std::size_t bytes);
    int (*free)(void* memory);
    int (*host_alloc)(void** memory, std::size_t bytes);
    int (*host_free)(void* memory);
    int (*memset)(void* memory, int value, std::size_t bytes);
    int (*pointer_query)(PointerInfo* info, const void* pointer);
    int (*memcpy_async)(void* to, const void* from, std::size_t bytes, int kind);
    int (*memcpy)(void* to, const void* from, std::size_t bytes, int kind);
    const EventTable* events;
    const char* (*error_string)(int code);  ///< static text; of the calling thread's last failure if it had that code
    int (*remote_alloc)(RelayLease* lease, const RelayAddress* at, std::size_t bytes);
    int (*remote_free)(std::int32_t lease_id);

    // Ours, behind what the contract lists. All of them accept any address inside an allocation.
    /// The memory stays valid until as many releases, whatever its owner does meanwhile (T-13).
    int (*retain)(const void* memory);
    int (*release)(const void* memory);
    /// Pages for a range now, instead of a death at the first touch when memory is short.
    int (*reserve)(const void* memory, std::size_t bytes);
    /// The peers have opened the handles of this allocation: its descriptor may go.
    int (*end_exports)(void* memory);
};

static_assert(offsetof(RuntimeTable, name) == 0x00 && offsetof(RuntimeTable, init) == 0x08);
static_assert(offsetof(RuntimeTable, finalize) == 0x10 && offsetof(RuntimeTable, capabilities) == 0x18);
static_assert(offsetof(RuntimeTable, get_device_count) == 0x20 && offsetof(RuntimeTable, set_device) == 0x28);
static_assert(offsetof(RuntimeTable, get_device) == 0x30 && offsetof(RuntimeTable, device_family) == 0x38);
static_assert(offsetof(RuntimeTable, device_info) == 0x40 && offsetof(RuntimeTable, device_by_pci_bus_id) == 0x48);
static_assert(offsetof(RuntimeTable, device_pci_bus_id) == 0x50 && offsetof(RuntimeTable, device_numa_node) == 0x58);
static_assert(offsetof(RuntimeTable, device_can_access_peer) == 0x60);
static_assert(offsetof(RuntimeTable, device_enable_peer_access) == 0x68);
static_assert(offsetof(RuntimeTable, device_disable_peer_access) == 0x70);
static_assert(offsetof(RuntimeTable, ipc_domain_id) == 0x78 && offsetof(RuntimeTable, ipc_open_mem_handle) == 0x80);
static_assert(offsetof(RuntimeTable, ipc_get_mem_handle) == 0x88);
static_assert(offsetof(RuntimeTable, ipc_close_mem_handle) == 0x90);
static_assert(offsetof(RuntimeTable, malloc) == 0x98 && offsetof(RuntimeTable, free) == 0xA0);
static_assert(offsetof(RuntimeTable, host_alloc) == 0xA8 && offsetof(RuntimeTable, host_free) == 0xB0);
static_assert(offsetof(RuntimeTable, memset) == 0xB8 && offsetof(RuntimeTable, pointer_query) == 0xC0);
static_assert(offsetof(RuntimeTable, memcpy_async) == 0xC8 && offsetof(RuntimeTable, memcpy) == 0xD0);
static_assert(offsetof(RuntimeTable, events) == 0xD8 && offsetof(RuntimeTable, error_string) == 0xE0);
static_assert(offsetof(RuntimeTable, remote_alloc) == 0xE8 && offsetof(RuntimeTable, remote_free) == 0xF0);

}  // namespace duofi::p2p
