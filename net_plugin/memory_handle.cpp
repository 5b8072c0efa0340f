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

Status drop_memory_handle(void* handle) {
    auto* memory = static_cast<MemoryHandle*>(handle);
    if (memory == nullptr || memory->magic != MemoryHandle::kLive) {
        log::warn(log::net, messages::kBadMemoryHandle, "deregMr");
        return fail(Errc::invalid_argument, "mhandle");
    }
    memory->magic = 0;
    ofi::Domain::deregister(memory->registration);
    caller_memory().memory_handles.release(memory);
    return {};
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
