// The HIP runtime over CPU memory, as its documentation describes it: a current device per thread,
// a last error that stays until somebody takes it, two numberings of the kinds of memory.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/mocks/mock_memory.hpp"

namespace {

using duofi::mock::Block;
using duofi::mock::Handle;
using duofi::mock::Memory;
using duofi::mock::Opened;

using Result = int;
struct IpcHandle {
    char reserved[64];
};
struct Attributes {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned flags;
};

enum : Result {
    kOk = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kPeerUnsupported = 217,
    kInvalidHandle = 400,
    kPeerEnabled = 704,
    kPeerNotEnabled = 705,
    kNotSupported = 801,
};

constexpr int kRenumbered = 60000000;
thread_local int current = 0;
thread_local Result last = kOk;

MockControl& control() {
    return Memory::control();
}
Memory& memory() {
    return Memory::instance();
}
bool known(int device) {
    return device >= 0 && device < control().devices;
}
int version() {
    return control().version != 0 ? control().version : 60342133;
}
Result noted(Result result) {
    if (result != kOk) last = result;
    return result;
}

}  // namespace

DUOFI_MOCK_EXPORT Result hipInit(unsigned flags) {
    return noted(flags != 0 ? kInvalidValue : control().init_result);
}
DUOFI_MOCK_EXPORT Result hipRuntimeGetVersion(int* number) {
    *number = version();
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipGetDeviceCount(int* count) {
    *count = control().devices;
    return noted(control().devices == 0 ? 100 : kOk);
}
DUOFI_MOCK_EXPORT Result hipSetDevice(int device) {
    if (!known(device)) return noted(kInvalidDevice);
    current = device;
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipGetDevice(int* device) {
    *device = current;
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipDeviceGetPCIBusId(char* text, int bytes, int device) {
    if (!known(device)) return noted(kInvalidDevice);
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 0x80 + device);
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipDeviceGetByPCIBusId(int* device, const char* text) {
    unsigned domain = 0, bus = 0;
    if (std::sscanf(text, "%x:%x:", &domain, &bus) != 2) return noted(kInvalidValue);
    if (domain != 0 || !known(static_cast<int>(bus) - 0x80)) return noted(kInvalidDevice);
    *device = static_cast<int>(bus) - 0x80;
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!known(device) || !known(peer)) return noted(kInvalidDevice);
    *can = device != peer && !Memory::far_apart(device, peer);
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    if (flags != 0) return noted(kInvalidValue);
    if (!known(peer) || peer == current) return noted(kInvalidDevice);
    if (Memory::far_apart(current, peer)) return noted(kPeerUnsupported);
    return noted(memory().enable_peer(current, peer) ? kOk : kPeerEnabled);
}
DUOFI_MOCK_EXPORT Result hipDeviceDisablePeerAccess(int peer) {
    return noted(memory().disable_peer(current, peer) ? kOk : kPeerNotEnabled);
}
DUOFI_MOCK_EXPORT Result hipExtMallocWithFlags(void** made, std::size_t bytes, unsigned flags) {
    constexpr unsigned kFineGrained = 1, kUncached = 3;
    // Memory that other devices see while kernels run; before version 6 no other kind of it.
    if (flags == kUncached && version() < kRenumbered) return noted(kInvalidValue);
    if (flags != kUncached && flags != kFineGrained) return noted(kInvalidValue);
    *made = memory().allocate(bytes, current);
    return noted(*made != nullptr ? kOk : kOutOfMemory);
}
DUOFI_MOCK_EXPORT Result hipFree(void* made) {
    return noted(made == nullptr || memory().release(made) ? kOk : kInvalidValue);
}
DUOFI_MOCK_EXPORT Result hipHostMalloc(void** made, std::size_t bytes, unsigned) {
    *made = memory().allocate(bytes, -1);
    return noted(*made != nullptr ? kOk : kOutOfMemory);
}
DUOFI_MOCK_EXPORT Result hipHostFree(void* made) {
    return noted(memory().release(made) ? kOk : kInvalidValue);
}
DUOFI_MOCK_EXPORT Result hipMemset(void* to, int value, std::size_t bytes) {
    if (memory().find(to).bytes == 0) return noted(kInvalidValue);
    memory().queue([=] { std::memset(to, value, bytes); });
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
    if (kind < 0 || kind > 4) return noted(kInvalidValue);
    memory().copy(to, from, bytes);
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipStreamSynchronize(void*) {
    memory().synchronize();
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipIpcGetMemHandle(IpcHandle* handle, void* address) {
    Handle made;
    if (!memory().make_handle(address, made)) return noted(kInvalidValue);
    std::memcpy(handle->reserved, &made, sizeof(made));
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipIpcOpenMemHandle(void** address, IpcHandle handle, unsigned flags) {
    if (flags != 1) return noted(kInvalidValue);
    Handle given;
    std::memcpy(&given, handle.reserved, sizeof(given));
    const Opened opened = memory().open(given, *address);
    return noted(opened == Opened::ok            ? kOk
                 : opened == Opened::own_process ? kInvalidContext
                                                 : kInvalidHandle);
}
DUOFI_MOCK_EXPORT Result hipIpcCloseMemHandle(void* address) {
    return noted(memory().close(address) ? kOk : kInvalidValue);
}
DUOFI_MOCK_EXPORT Result hipPointerGetAttributes(Attributes* out, const void* address) {
    const Block block = memory().find(address);
    const bool renumbered = version() >= kRenumbered;
    *out = {};
    out->device = block.device;
    if (block.bytes == 0) return renumbered ? kOk : noted(kInvalidValue);  // type 0: not registered
    const bool host = block.device < 0;
    out->type = renumbered ? (host ? 1 : 2) : (host ? 0 : 1);
    return kOk;
}
DUOFI_MOCK_EXPORT Result hipMemGetAddressRange(void** base, std::size_t* bytes, void* address) {
    const Block block = memory().find(address);
    if (block.bytes == 0) return noted(kInvalidValue);
    *base = block.base;
    *bytes = block.bytes;
    return kOk;
}
DUOFI_MOCK_EXPORT const char* hipGetErrorString(Result result) {
    return result == kOutOfMemory ? "out of memory" : "another error of the runtime";
}
DUOFI_MOCK_EXPORT Result hipGetLastError() {
    const Result taken = last;
    last = kOk;
    return taken;
}
DUOFI_MOCK_EXPORT Result hipMemGetHandleForAddressRange(void* handle, void* address,
                                                        std::size_t bytes, int type,
                                                        unsigned long long) {
    const Block block = memory().find(address);
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (control().no_dmabuf != 0) return noted(kNotSupported);
    if (type != 1 || block.bytes == 0 || reinterpret_cast<std::uintptr_t>(address) % page != 0 ||
        bytes % page != 0)
        return noted(kInvalidValue);
    *static_cast<int*>(handle) = ::dup(block.fd);
    return kOk;
}
