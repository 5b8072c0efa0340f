// What the runtimes cuda, hip and neuron share: the slots of a RuntimeTable over a driver of
// common/memory (p2p contract 2.7). One of them is in use at a time. Slots from any thread.
#pragma once

#include "common/memory/device_runtime.hpp"
#include "p2p/runtime/events.hpp"
#include "p2p/runtime/runtime_table.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p::device_backend {

/// Opens the driver that the settings name. The init slot of each of the three.
int start(memory::DeviceKind kind);
int finalize();
std::uint64_t capabilities();
/// The driver in use; NULL between finalize and start.
[[nodiscard]] memory::DeviceRuntime* driver() noexcept;

int get_device_count(int* count);
int set_device(int device);
int get_device(int* device);
int device_family(int device, int* family);
int device_info(int device, DeviceInfo* info);
int device_by_pci_bus_id(std::int64_t bus_id, int* device);
int device_pci_bus_id(int device, std::int64_t* bus_id);
int device_numa_node(int device, int* node);
int can_access_peer(int* can, int device, int peer);
int enable_peer_access(int peer, unsigned flags);
int disable_peer_access(int peer);
int ipc_domain_id(std::uint64_t* id);
int ipc_open(void** memory, const p2pIpcHandle* handle, unsigned flags);
int ipc_get(p2pIpcHandle* handle, void* memory);
int ipc_close(void* memory);
int allocate(void** memory, std::size_t bytes);
/// Memory that somebody retains lives until the last release (T-13).
int free_memory(void* memory);
int host_allocate(void** memory, std::size_t bytes);
int host_release(void* memory);
int fill(void* memory, int value, std::size_t bytes);
int pointer_query(PointerInfo* info, const void* pointer);
int copy(void* to, const void* from, std::size_t bytes, int kind);
int retain(const void* memory);
int release(const void* memory);

/// The table of a runtime with that name and init.
[[nodiscard]] constexpr RuntimeTable table(const char* name, int (*init)()) noexcept {
    return {
        .name = name,
        .init = init,
        .finalize = finalize,
        .capabilities = capabilities,
        .get_device_count = get_device_count,
        .set_device = set_device,
        .get_device = get_device,
        .device_family = device_family,
        .device_info = device_info,
        .device_by_pci_bus_id = device_by_pci_bus_id,
        .device_pci_bus_id = device_pci_bus_id,
        .device_numa_node = device_numa_node,
        .device_can_access_peer = can_access_peer,
        .device_enable_peer_access = enable_peer_access,
        .device_disable_peer_access = disable_peer_access,
        .ipc_domain_id = ipc_domain_id,
        .ipc_open_mem_handle = ipc_open,
        .ipc_get_mem_handle = ipc_get,
        .ipc_close_mem_handle = ipc_close,
        .malloc = allocate,
        .free = free_memory,
        .host_alloc = host_allocate,
        .host_free = host_release,
        .memset = fill,
        .pointer_query = pointer_query,
        .memcpy_async = copy,
        .memcpy = copy,
        .events = &finished_event_table,
        .error_string = slot_error_text,
        .remote_alloc = nullptr,
        .remote_free = nullptr,
        .retain = retain,
        .release = release,
        .reserve = nullptr,
        .end_exports = nullptr,
    };
}

}  // namespace duofi::p2p::device_backend
