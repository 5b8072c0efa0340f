#include "common/memory/gpu_driver.hpp"

#include <unistd.h>

#include <cstring>

#include "common/util/messages/memory.hpp"

namespace duofi::memory {
namespace {

Errc class_of(GpuResult result) noexcept {
    switch (result) {
        case kGpuInvalidValue:
        case kGpuInvalidDevice:
        case kGpuInvalidHandle:
            return Errc::invalid_argument;
        case kGpuOutOfMemory:
            return Errc::no_memory;
        case kGpuInvalidContext:  // a handle opened by the process that made it
        case kGpuPeerNotEnabled:
            return Errc::invalid_usage;
        case kGpuPeerUnsupported:
        case kGpuNotSupported:
            return Errc::unsupported;
        default:
            return Errc::system;
    }
}

}  // namespace

IpcHandle bytes_of(const GpuIpcHandle& handle) noexcept {
    IpcHandle bytes;
    std::memcpy(bytes.data(), handle.reserved, bytes.size());
    return bytes;
}

GpuIpcHandle gpu_handle_of(const IpcHandle& bytes) noexcept {
    GpuIpcHandle handle;
    std::memcpy(handle.reserved, bytes.data(), bytes.size());
    return handle;
}

Status gpu_status(GpuResult result, const char* call) {
    if (result == kGpuOk) return {};
    return fail(class_of(result), call, result);
}

Result<std::size_t> whole_units(std::size_t bytes, const char* call) {
    if (bytes == 0 || bytes > SIZE_MAX - kDeviceUnit)
        return fail(Errc::invalid_argument, call, kGpuInvalidValue);
    return (bytes + kDeviceUnit - 1) / kDeviceUnit * kDeviceUnit;
}

Status check_whole_allocation(const PointerFacts& facts, const void* memory) {
    if (facts.kind == MemoryKind::device && facts.base == memory) return {};
    return fail(Errc::invalid_argument, messages::kNotAnAllocation);
}

Result<PageRange> pages_around(const PointerFacts& facts, const void* pointer, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t room = reinterpret_cast<std::uintptr_t>(facts.base) + facts.bytes - begin;
    if (facts.kind != MemoryKind::device || bytes == 0 || bytes > room)
        return fail(Errc::invalid_argument, messages::kNotDeviceMemory);
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = begin / page * page;
    const std::uintptr_t end = (begin + bytes + page - 1) / page * page;
    return PageRange{first, end - first, begin - first};
}

}  // namespace duofi::memory
