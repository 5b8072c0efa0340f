// The functions of the CUDA driver that we call, with their own types written out. Facts of the
// public header cuda.h: names, signatures, values. A table of pointers, filled once.
#pragma once

#include <cstddef>

#include "common/memory/driver_library.hpp"
#include "common/memory/gpu_driver.hpp"

namespace duofi::memory {

using CudaDevice = int;
using CudaAddress = unsigned long long;
using CudaContext = struct CudaContextTag*;
using CudaStream = struct CudaStreamTag*;


inline constexpr int kCudaAttributeUnifiedAddressing = 41;
inline constexpr int kCudaAttributeDmaBuf = 124;
inline constexpr int kCudaPointerMemoryType = 2;
inline constexpr int kCudaPointerManaged = 8;
inline constexpr int kCudaPointerDevice = 9;
inline constexpr int kCudaPointerBase = 11;
inline constexpr int kCudaPointerBytes = 12;
inline constexpr unsigned kCudaMemoryDevice = 2;

/// NULL in the last one: a driver older than 11.7.
struct CudaDriver {
    GpuResult (*init)(unsigned flags);
    GpuResult (*driver_version)(int* version);
    GpuResult (*device_count)(int* count);
    GpuResult (*device_get)(CudaDevice* device, int ordinal);
    GpuResult (*device_attribute)(int* value, int attribute, CudaDevice device);
    GpuResult (*device_bus_id)(char* text, int bytes, CudaDevice device);
    GpuResult (*device_by_bus_id)(CudaDevice* device, const char* text);
    GpuResult (*context_retain)(CudaContext* context, CudaDevice device);
    GpuResult (*context_release)(CudaDevice device);
    GpuResult (*context_set)(CudaContext context);
    GpuResult (*context_get)(CudaContext* context);
    GpuResult (*can_access_peer)(int* can, CudaDevice device, CudaDevice peer);
    GpuResult (*enable_peer)(CudaContext peer, unsigned flags);
    GpuResult (*disable_peer)(CudaContext peer);
    GpuResult (*allocate)(CudaAddress* address, std::size_t bytes);
    GpuResult (*release)(CudaAddress address);
    GpuResult (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
    GpuResult (*host_free)(void* memory);
    GpuResult (*set_bytes)(CudaAddress address, unsigned char value, std::size_t bytes);
    GpuResult (*copy)(CudaAddress to, CudaAddress from, std::size_t bytes);
    GpuResult (*stream_synchronize)(CudaStream stream);
    GpuResult (*ipc_get)(GpuIpcHandle* handle, CudaAddress address);
    GpuResult (*ipc_open)(CudaAddress* address, GpuIpcHandle handle, unsigned flags);
    GpuResult (*ipc_close)(CudaAddress address);
    GpuResult (*pointer_attribute)(void* value, int attribute, CudaAddress address);
    GpuResult (*error_string)(GpuResult result, const char** text);
    GpuResult (*range_handle)(void* handle, CudaAddress address, std::size_t bytes, int type,
                               unsigned long long flags);
};

/// Errors: those of DriverLibrary::bind.
[[nodiscard]] Status bind_cuda(const DriverLibrary& library, CudaDriver& driver);

}  // namespace duofi::memory
