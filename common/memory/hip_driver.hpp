// The functions of the HIP runtime that we call, with their own types written out. Facts of the
// public header hip_runtime_api.h: names, signatures, values. A table of pointers, filled once.
#pragma once

#include <cstddef>

#include "common/memory/driver_library.hpp"
#include "common/memory/gpu_driver.hpp"

namespace duofi::memory {

using HipStream = struct HipStreamTag*;

struct HipPointer {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned flags;
};


/// Kinds of memory were numbered anew in version 6: device is 2 since, and was 1 before.
inline constexpr int kHipRenumbered = 60000000;
inline constexpr int kHipMemoryDevice = 2;
inline constexpr int kHipMemoryDeviceBefore6 = 1;
inline constexpr unsigned kHipFineGrained = 1;
inline constexpr unsigned kHipUncached = 3;
inline constexpr int kHipCopyAutomatic = 4;

/// NULL in the last one: a runtime without it.
struct HipDriver {
    GpuResult (*init)(unsigned flags);
    GpuResult (*runtime_version)(int* version);
    GpuResult (*device_count)(int* count);
    GpuResult (*set_device)(int device);
    GpuResult (*get_device)(int* device);
    GpuResult (*device_bus_id)(char* text, int bytes, int device);
    GpuResult (*device_by_bus_id)(int* device, const char* text);
    GpuResult (*can_access_peer)(int* can, int device, int peer);
    GpuResult (*enable_peer)(int peer, unsigned flags);
    GpuResult (*disable_peer)(int peer);
    GpuResult (*allocate)(void** memory, std::size_t bytes, unsigned flags);
    GpuResult (*release)(void* memory);
    GpuResult (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
    GpuResult (*host_free)(void* memory);
    GpuResult (*set_bytes)(void* memory, int value, std::size_t bytes);
    GpuResult (*copy)(void* to, const void* from, std::size_t bytes, int kind);
    GpuResult (*stream_synchronize)(HipStream stream);
    GpuResult (*ipc_get)(GpuIpcHandle* handle, void* memory);
    GpuResult (*ipc_open)(void** memory, GpuIpcHandle handle, unsigned flags);
    GpuResult (*ipc_close)(void* memory);
    GpuResult (*pointer_attributes)(HipPointer* pointer, const void* address);
    GpuResult (*address_range)(void** base, std::size_t* bytes, void* address);
    const char* (*error_string)(GpuResult result);
    GpuResult (*last_error)();
    GpuResult (*range_handle)(void* handle, void* address, std::size_t bytes, int type,
                              unsigned long long flags);
};

/// Errors: those of DriverLibrary::bind.
[[nodiscard]] Status bind_hip(const DriverLibrary& library, HipDriver& driver);

}  // namespace duofi::memory
