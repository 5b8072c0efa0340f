#include "net_plugin/memory_handle.hpp"

#include "common/ofi/endpoint.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/scope_exit.hpp"
#include "net_plugin/caller_memory.hpp"

namespace duofi::net {

namespace {

void deregister_all(std::span<ofi::Registration> registrations) noexcept {
    for (ofi::Registration& registration : registrations) ofi::Domain::deregister(registration);
}

}  // namespace

Result<void*> make_memory_handle(std::span<ofi::Endpoint* const> rails, void* data, std::size_t size) {
    std::array<ofi::Registration, ofi::kMaxRails> made;
    ScopeExit undo([&] { deregister_all(made); });
    for (std::size_t i = 0; i < rails.size(); ++i) {
        DUOFI_ASSIGN(made[i], rails[i]->domain().register_memory(data, size, rails[i]->fid()));
    }
    MemoryHandle* handle = caller_memory().memory_handles.acquire();
    undo.release();
    handle->rails = rails.size();
    handle->registration = std::move(made);
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
    if (memory->exposed.exchange(false)) memory->first().domain->withdraw(memory->first());
    deregister_all(memory->registration);
    caller_memory().memory_handles.release(memory);
    return {};
}

Result<std::uint64_t> expose_memory(void* handle) {
    MemoryHandle* memory = live(handle);
    if (memory == nullptr) {
        log::warn(log::net, messages::kBadMemoryHandle, "getMrKey");
        return fail(Errc::invalid_argument, "mhandle");
    }
    if (memory->exposed.load()) return memory->first().region->key();
    DUOFI_ASSIGN(const std::uint64_t key, memory->first().domain->expose(memory->first()));
    if (memory->exposed.exchange(true)) memory->first().domain->withdraw(memory->first());
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
    if (memory->magic != MemoryHandle::kLive || memory->first().domain.get() != &domain) {
        log::warn(log::net, messages::kBadMemoryHandle, operation);
        return false;
    }
    if (!memory->first().covers(data, size)) {
        log::warn(log::net, messages::kOutOfRange, operation, data, size, memory->first().address,
                  memory->first().length);
        return false;
    }
    if (domain.needs_local_registration()) descriptor = memory->first().region->descriptor();
    return true;
}

}  // namespace duofi::net
