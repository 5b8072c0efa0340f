#include "net_plugin/memory_handle.hpp"

#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "net_plugin/caller_memory.hpp"

namespace duofi::net {

Result<void*> make_memory_handle(ofi::Domain& domain, void* data, std::size_t size, fid_ep* endpoint) {
    DUOFI_ASSIGN(ofi::Registration registration, domain.register_memory(data, size, endpoint));
    MemoryHandle* handle = caller_memory().memory_handles.acquire();
    handle->registration = std::move(registration);
    handle->magic = MemoryHandle::kLive;
    return handle;
}

namespace {

MemoryHandle* live(void* handle) noexcept {
    auto* memory = static_cast<MemoryHandle*>(handle);
    return memory != nullptr && memory->magic == MemoryHandle::kLive ? memory : nullptr;
}

}  // namespace

Status drop_memory_handle(void* handle) {
    Status dropped = drop_memory_handle_quietly(handle);
    if (!dropped) log::warn(log::net, messages::kBadMemoryHandle, "deregMr");
    return dropped;
}

Status drop_memory_handle_quietly(void* handle) {
    MemoryHandle* memory = live(handle);
    if (memory == nullptr) return fail(Errc::invalid_argument, "mhandle");
    memory->magic = 0;
    if (memory->exposed.exchange(false)) memory->registration.domain->withdraw(memory->registration);
    ofi::Domain::deregister(memory->registration);
    caller_memory().memory_handles.release(memory);
    return {};
}

Result<std::uint64_t> expose_memory(void* handle) {
    MemoryHandle* memory = live(handle);
    if (memory == nullptr) {
        log::warn(log::net, messages::kBadMemoryHandle, "getMrKey");
        return fail(Errc::invalid_argument, "mhandle");
    }
    if (memory->exposed.load()) return memory->registration.region->key();
    DUOFI_ASSIGN(const std::uint64_t key, memory->registration.domain->expose(memory->registration));
    if (memory->exposed.exchange(true)) memory->registration.domain->withdraw(memory->registration);
    return key;
}

bool check_memory(ofi::Domain& domain, void* handle, const void* data, std::size_t size,
                  const char* operation, void*& descriptor) noexcept {
    descriptor = nullptr;
    if (size == 0) return true;  // pointer and handle may be anything (net contract 3.4)
    if (data == nullptr) {
        log::warn(log::net, messages::kNullArgument, operation, "data");
        return false;
    }
    if (handle == nullptr) {
        if (!domain.needs_local_registration()) return true;
        log::warn(log::net, messages::kNeedsMemoryHandle, operation, domain.device().provider);
        return false;
    }
    const auto* memory = static_cast<const MemoryHandle*>(handle);
    if (memory->magic != MemoryHandle::kLive || memory->registration.domain.get() != &domain) {
        log::warn(log::net, messages::kBadMemoryHandle, operation);
        return false;
    }
    if (!memory->registration.covers(data, size)) {
        log::warn(log::net, messages::kOutOfRange, operation, data, size, memory->registration.address,
                  memory->registration.length);
        return false;
    }
    if (domain.needs_local_registration()) descriptor = memory->registration.region->descriptor();
    return true;
}

}  // namespace duofi::net
