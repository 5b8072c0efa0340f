// The functions of the HIP runtime that we call, with their own types written out. Facts of the
// public header hip_runtime_api.h: names, signatures, values. A table of pointers, filled once.
#pragma once

#include <cstddef>

#include "common/memory/driver_library.hpp"

namespace duofi::memory {

using HipResult = int;
using HipStream = struct HipStreamTag*;

/// Passed by value.
struct HipIpcHandle {
    char reserved[kIpcHandleBytes];
};

struct HipPointer {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned flags;
};

inline constexpr HipResult kHipOk = 0;
inline constexpr HipResult kHipInvalidValue = 1;
inline constexpr HipResult kHipOutOfMemory = 2;
inline constexpr HipResult kHipNoDevice = 100;
inline constexpr HipResult kHipInvalidDevice = 101;
inline constexpr HipResult kHipInvalidContext = 201;
inline constexpr HipResult kHipPeerUnsupported = 217;
inline constexpr HipResult kHipInvalidHandle = 400;
inline constexpr HipResult kHipPeerEnabled = 704;
inline constexpr HipResult kHipPeerNotEnabled = 705;
inline constexpr HipResult kHipNotSupported = 801;

/// Kinds of memory were numbered anew in version 6: device is 2 since, and was 1 before.
inline constexpr int kHipRenumbered = 60000000;
inline constexpr int kHipMemoryDevice = 2;
inline constexpr int kHipMemoryDeviceBefore6 = 1;
inline constexpr unsigned kHipFineGrained = 1;
inline constexpr unsigned kHipUncached = 3;
inline constexpr unsigned kHipIpcLazyPeerAccess = 1;
inline constexpr int kHipCopyAutomatic = 4;
inline constexpr int kHipRangeDmabuf = 1;

/// NULL in the last one: a runtime without it.
struct HipDriver {
    HipResult (*init)(unsigned flags);
    HipResult (*runtime_version)(int* version);
    HipResult (*device_count)(int* count);
    HipResult (*set_device)(int device);
    HipResult (*get_device)(int* device);
    HipResult (*device_bus_id)(char* text, int bytes, int device);
    HipResult (*device_by_bus_id)(int* device, const char* text);
    HipResult (*can_access_peer)(int* can, int device, int peer);
    HipResult (*enable_peer)(int peer, unsigned flags);
    HipResult (*disable_peer)(int peer);
    HipResult (*allocate)(void** memory, std::size_t bytes, unsigned flags);
    HipResult (*release)(void* memory);
    HipResult (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
    HipResult (*host_free)(void* memory);
    HipResult (*set_bytes)(void* memory, int value, std::size_t bytes);
    HipResult (*copy)(void* to, const void* from, std::size_t bytes, int kind);
    HipResult (*stream_synchronize)(HipStream stream);
    HipResult (*ipc_get)(HipIpcHandle* handle, void* memory);
    HipResult (*ipc_open)(void** memory, HipIpcHandle handle, unsigned flags);
    HipResult (*ipc_close)(void* memory);
    HipResult (*pointer_attributes)(HipPointer* pointer, const void* address);
    HipResult (*address_range)(void** base, std::size_t* bytes, void* address);
    const char* (*error_string)(HipResult result);
    HipResult (*last_error)();
    HipResult (*range_handle)(void* handle, void* address, std::size_t bytes, int type,
                              unsigned long long flags);
};

/// Errors: those of DriverLibrary::bind.
[[nodiscard]] Status bind_hip(const DriverLibrary& library, HipDriver& driver);

}  // namespace duofi::memory
