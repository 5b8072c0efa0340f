// The calls through the table in force.
#include <cerrno>
#include <type_traits>

#include "common/local/ipc_domain.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_runtime.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/runtime/slot_error.hpp"

namespace duofi::p2p::runtime {

namespace {

tl::unexpected<Error> failed(const RuntimeTable& table, const char* operation, int code) {
    const char* text = table.error_string != nullptr ? table.error_string(code) : messages::kUnknownError;
    log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeFailed, table.name, operation, code, text);
    return fail(slot_errc(code), text);
}

const char* no_runtime() noexcept { return in_forked_child() ? messages::kRuntimeChild : messages::kNoRuntime; }

template <typename... Parameters, typename... Arguments>
Status call(const char* operation, int (*RuntimeTable::*slot)(Parameters...), Arguments... arguments) {
    const RuntimeTable* table = installed();
    if (table == nullptr) {
        log::warn(NCCL_INIT | NCCL_P2P, messages::kRuntimeFailed, "(none)", operation,
                  static_cast<int>(Errc::invalid_usage), no_runtime());
        return fail(Errc::invalid_usage, no_runtime(), ENOTCONN);
    }
    if (table->*slot == nullptr) return fail(Errc::unsupported, messages::kSlotMissing, EOPNOTSUPP);
    if (const int code = (table->*slot)(arguments...); code != kRuntimeOk) return failed(*table, operation, code);
    return {};
}

// The same for slots with one output, which is a parameter of type T*.
template <typename T, typename Call>
Result<T> value_of(Call make_call) {
    T value{};
    DUOFI_TRY(make_call(&value));
    return value;
}

// Runtimes without one of our own slots have nothing to do there.
template <typename... Parameters, typename... Arguments>
Status call_if_there(const char* operation, int (*RuntimeTable::*slot)(Parameters...), Arguments... arguments) {
    const RuntimeTable* table = installed();
    if (table != nullptr && table->*slot == nullptr) return {};
    return call(operation, slot, arguments...);
}

}  // namespace

Result<int> device_count() {
    return value_of<int>([](int* v) { return call("getDeviceCount", &RuntimeTable::get_device_count, v); });
}
Status set_device(int device) { return call("setDevice", &RuntimeTable::set_device, device); }
Result<int> device() {
    return value_of<int>([](int* v) { return call("getDevice", &RuntimeTable::get_device, v); });
}
Result<DeviceInfo> device_info(int device) {
    return value_of<DeviceInfo>(
        [&](DeviceInfo* v) { return call("deviceInfo", &RuntimeTable::device_info, device, v); });
}
Result<int> device_family(int device) {
    return value_of<int>([&](int* v) { return call("deviceFamily", &RuntimeTable::device_family, device, v); });
}
Result<int> device_by_bus_id(std::int64_t bus_id) {
    return value_of<int>(
        [&](int* v) { return call("deviceByPciBusId", &RuntimeTable::device_by_pci_bus_id, bus_id, v); });
}
Result<std::int64_t> bus_id(int device) {
    return value_of<std::int64_t>(
        [&](std::int64_t* v) { return call("devicePciBusId", &RuntimeTable::device_pci_bus_id, device, v); });
}
Result<int> numa_node(int device) {
    return value_of<int>([&](int* v) { return call("deviceNumaNode", &RuntimeTable::device_numa_node, device, v); });
}

Result<bool> can_access_peer(int device, int peer) {
    DUOFI_ASSIGN(const int can, value_of<int>([&](int* v) {
                     return call("deviceCanAccessPeer", &RuntimeTable::device_can_access_peer, v, device, peer);
                 }));
    return can != 0;
}

Status enable_peer_access(int peer) {
    const RuntimeTable* table = installed();
    if (table != nullptr && table->device_enable_peer_access != nullptr) {
        const int code = table->device_enable_peer_access(peer, 0);
        if (code == kRuntimeOk || code == kPeerAccessAlreadyEnabled) return {};
        return failed(*table, "deviceEnablePeerAccess", code);
    }
    return call("deviceEnablePeerAccess", &RuntimeTable::device_enable_peer_access, peer, 0U);
}
Status disable_peer_access(int peer) {
    return call("deviceDisablePeerAccess", &RuntimeTable::device_disable_peer_access, peer);
}

Result<std::uint64_t> ipc_domain_id() {
    return value_of<std::uint64_t>(
        [](std::uint64_t* v) { return call("ipcDomainId", &RuntimeTable::ipc_domain_id, v); });
}
bool same_ipc_domain(std::uint64_t a, std::uint64_t b) noexcept { return local::same_domain(a, b); }
Status ipc_open(void** memory, const p2pIpcHandle& handle) {
    return call("ipcOpenMemHandle", &RuntimeTable::ipc_open_mem_handle, memory, &handle,
                unsigned{P2P_IPC_LAZY_PEER_ACCESS});
}
Status ipc_get(p2pIpcHandle* handle, void* memory) {
    return call("ipcGetMemHandle", &RuntimeTable::ipc_get_mem_handle, handle, memory);
}
Status ipc_close(void* memory) { return call("ipcCloseMemHandle", &RuntimeTable::ipc_close_mem_handle, memory); }

Result<void*> allocate(std::size_t bytes) {
    return value_of<void*>([&](void** v) { return call("malloc", &RuntimeTable::malloc, v, bytes); });
}
Status free(void* memory) { return call("free", &RuntimeTable::free, memory); }
Result<void*> host_allocate(std::size_t bytes) {
    return value_of<void*>([&](void** v) { return call("hostAlloc", &RuntimeTable::host_alloc, v, bytes); });
}
Status host_free(void* memory) { return call("hostFree", &RuntimeTable::host_free, memory); }
Status fill(void* memory, int value, std::size_t bytes) {
    return call("memset", &RuntimeTable::memset, memory, value, bytes);
}
Result<PointerInfo> pointer_info(const void* pointer) {
    const RuntimeTable* table = installed();
    if (table == nullptr) return fail(Errc::invalid_usage, no_runtime(), ENOTCONN);
    if (table->pointer_query == nullptr) return fail(Errc::unsupported, messages::kSlotMissing, EOPNOTSUPP);
    PointerInfo info;
    // "Not mine" is an answer, so nothing is logged.
    if (const int code = table->pointer_query(&info, pointer); code != kRuntimeOk)
        return fail(slot_errc(code), table->error_string(code));
    return info;
}
Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
    return call("memcpy", &RuntimeTable::memcpy, to, from, bytes, static_cast<int>(kind));
}
Status copy_async(void* to, const void* from, std::size_t bytes, CopyKind kind) {
    return call("memcpyAsync", &RuntimeTable::memcpy_async, to, from, bytes, static_cast<int>(kind));
}

Result<RelayLease> remote_allocate(const RelayAddress& at, std::size_t bytes) {
    return value_of<RelayLease>(
        [&](RelayLease* v) { return call("remoteAlloc", &RuntimeTable::remote_alloc, v, &at, bytes); });
}
Status remote_free(std::int32_t lease_id) { return call("remoteFree", &RuntimeTable::remote_free, lease_id); }

Status retain(const void* memory) { return call_if_there("retain", &RuntimeTable::retain, memory); }
Status release(const void* memory) { return call_if_there("release", &RuntimeTable::release, memory); }
Status reserve(const void* memory, std::size_t bytes) {
    return call_if_there("reserve", &RuntimeTable::reserve, memory, bytes);
}
Status end_exports(void* memory) { return call_if_there("endExports", &RuntimeTable::end_exports, memory); }

}  // namespace duofi::p2p::runtime
