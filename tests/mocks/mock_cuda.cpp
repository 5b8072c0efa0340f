// The CUDA driver over CPU memory, as its documentation describes it: calls need a context, fills
// and copies go on after the return, 704 for a peer that is on already, handles by value, opening in
// the exporting process is an error, opening twice counts.
#include <sys/mman.h>
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
using Address = unsigned long long;
struct ContextTag {
    int device;
};
using Context = ContextTag*;
struct IpcHandle {
    char reserved[64];
};

enum : Result {
    kOk = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kPeerUnsupported = 217,
    kInvalidHandle = 400,
    kPeerEnabled = 704,
    kPeerNotEnabled = 705,
    kNotSupported = 801,
};

constexpr int kMostDevices = 8;
ContextTag contexts[kMostDevices];
thread_local Context current = nullptr;
bool initialized = false;

MockControl& control() {
    return Memory::control();
}
Memory& memory() {
    return Memory::instance();
}
void* pointer(Address address) {
    return reinterpret_cast<void*>(address);
}
bool known(int device) {
    return device >= 0 && device < control().devices;
}

}  // namespace

DUOFI_MOCK_EXPORT Result cuInit(unsigned flags) {
    if (flags != 0) return kInvalidValue;
    if (control().init_result != 0) return control().init_result;
    initialized = true;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDriverGetVersion(int* version) {
    *version = control().version != 0 ? control().version : 12040;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDeviceGetCount(int* count) {
    if (!initialized) return kNotInitialized;
    *count = control().devices;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDeviceGet(int* device, int ordinal) {
    if (!known(ordinal)) return kInvalidDevice;
    *device = ordinal;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int device) {
    constexpr int kUnifiedAddressing = 41, kDmaBuf = 124;
    if (!known(device)) return kInvalidDevice;
    *value = attribute == kUnifiedAddressing || (attribute == kDmaBuf && control().no_dmabuf == 0);
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDeviceGetPCIBusId(char* text, int bytes, int device) {
    if (!known(device)) return kInvalidDevice;
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", 0x40 + device);
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDeviceGetByPCIBusId(int* device, const char* text) {
    unsigned domain = 0, bus = 0;
    if (std::sscanf(text, "%x:%x:", &domain, &bus) != 2) return kInvalidValue;
    if (domain != 0 || !known(static_cast<int>(bus) - 0x40)) return kInvalidDevice;
    *device = static_cast<int>(bus) - 0x40;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDevicePrimaryCtxRetain(Context* context, int device) {
    if (!known(device)) return kInvalidDevice;
    contexts[device].device = device;
    *context = &contexts[device];
    ++control().contexts;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDevicePrimaryCtxRelease_v2(int device) {
    if (!known(device) || control().contexts == 0) return kInvalidContext;
    --control().contexts;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuCtxSetCurrent(Context context) {
    current = context;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuCtxGetCurrent(Context* context) {
    *context = current;
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!known(device) || !known(peer)) return kInvalidDevice;
    *can = device != peer && !Memory::far_apart(device, peer);
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuCtxEnablePeerAccess(Context peer, unsigned flags) {
    if (flags != 0) return kInvalidValue;
    if (current == nullptr || peer == nullptr || peer == current) return kInvalidContext;
    if (Memory::far_apart(current->device, peer->device)) return kPeerUnsupported;
    return memory().enable_peer(current->device, peer->device) ? kOk : kPeerEnabled;
}
DUOFI_MOCK_EXPORT Result cuCtxDisablePeerAccess(Context peer) {
    if (current == nullptr || peer == nullptr) return kInvalidContext;
    return memory().disable_peer(current->device, peer->device) ? kOk : kPeerNotEnabled;
}
DUOFI_MOCK_EXPORT Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
    if (current == nullptr) return kInvalidContext;
    if (bytes == 0) return kInvalidValue;
    void* made = memory().allocate(bytes, current->device);
    *address = reinterpret_cast<Address>(made);
    return made != nullptr ? kOk : kOutOfMemory;
}
DUOFI_MOCK_EXPORT Result cuMemFree_v2(Address address) {
    if (current == nullptr) return kInvalidContext;
    return memory().release(pointer(address)) ? kOk : kInvalidValue;
}
DUOFI_MOCK_EXPORT Result cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
    if (current == nullptr) return kInvalidContext;
    *made = memory().allocate(bytes, -1);
    return *made != nullptr ? kOk : kOutOfMemory;
}
DUOFI_MOCK_EXPORT Result cuMemFreeHost(void* made) {
    if (current == nullptr) return kInvalidContext;
    return memory().release(made) ? kOk : kInvalidValue;
}
DUOFI_MOCK_EXPORT Result cuMemsetD8_v2(Address address, unsigned char value, std::size_t bytes) {
    const Block block = memory().find(pointer(address));
    if (current == nullptr) return kInvalidContext;
    if (block.bytes == 0) return kInvalidValue;
    memory().queue([=] { std::memset(pointer(address), value, bytes); });
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuMemcpy(Address to, Address from, std::size_t bytes) {
    if (current == nullptr) return kInvalidContext;
    memory().copy(pointer(to), pointer(from), bytes);
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuStreamSynchronize(void*) {
    if (current == nullptr) return kInvalidContext;
    memory().synchronize();
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuIpcGetMemHandle(IpcHandle* handle, Address address) {
    Handle made;
    if (current == nullptr) return kInvalidContext;
    if (!memory().make_handle(pointer(address), made)) return kInvalidValue;
    std::memcpy(handle->reserved, &made, sizeof(made));
    return kOk;
}
DUOFI_MOCK_EXPORT Result cuIpcOpenMemHandle_v2(Address* address, IpcHandle handle, unsigned flags) {
    if (current == nullptr) return kInvalidContext;
    if (flags != 1) return kInvalidValue;
    Handle given;
    std::memcpy(&given, handle.reserved, sizeof(given));
    void* base = nullptr;
    const Opened opened = memory().open(given, base);
    *address = reinterpret_cast<Address>(base);
    return opened == Opened::ok            ? kOk
           : opened == Opened::own_process ? kInvalidContext
                                           : kInvalidHandle;
}
DUOFI_MOCK_EXPORT Result cuIpcCloseMemHandle(Address address) {
    if (current == nullptr) return kInvalidContext;
    return memory().close(pointer(address)) ? kOk : kInvalidValue;
}
DUOFI_MOCK_EXPORT Result cuPointerGetAttribute(void* value, int attribute, Address address) {
    constexpr int kMemoryType = 2, kManaged = 8, kOrdinal = 9, kBase = 11, kBytes = 12;
    const Block block = memory().find(pointer(address));
    if (block.bytes == 0) return kInvalidValue;
    switch (attribute) {
        case kMemoryType:
            *static_cast<unsigned*>(value) = block.device < 0 ? 1 : 2;
            return kOk;
        case kManaged:
            *static_cast<unsigned*>(value) = 0;
            return kOk;
        case kOrdinal:
            *static_cast<int*>(value) = block.device;
            return kOk;
        case kBase:
            *static_cast<Address*>(value) = reinterpret_cast<Address>(block.base);
            return kOk;
        case kBytes:
            *static_cast<std::size_t*>(value) = block.bytes;
            return kOk;
        default:
            return kInvalidValue;
    }
}
DUOFI_MOCK_EXPORT Result cuGetErrorString(Result result, const char** text) {
    switch (result) {
        case kOutOfMemory:
            *text = "out of memory";
            return kOk;
        case kPeerEnabled:
            *text = "peer access is already enabled";
            return kOk;
        case kInvalidContext:
            *text = "invalid device context";
            return kOk;
        default:
            *text = "another error of the driver";
            return kOk;
    }
}
DUOFI_MOCK_EXPORT Result cuMemGetHandleForAddressRange(void* handle, Address address,
                                                       std::size_t bytes, int type,
                                                       unsigned long long flags) {
    const auto page = static_cast<Address>(::sysconf(_SC_PAGESIZE));
    const Block block = memory().find(pointer(address));
    if (control().no_dmabuf != 0) return kNotSupported;
    if (type != 1 || flags != 0 || block.bytes == 0 || address % page != 0 || bytes % page != 0)
        return kInvalidValue;
    *static_cast<int*>(handle) = ::dup(block.fd);
    return kOk;
}
