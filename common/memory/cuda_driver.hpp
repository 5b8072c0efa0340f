// The functions of the CUDA driver that we call, with their own types written out. Facts of the
// public header cuda.h: names, signatures, values. A table of pointers, filled once.
#pragma once

#include <cstddef>

#include "common/memory/driver_library.hpp"

namespace duofi::memory {

using CudaResult = int;
using CudaDevice = int;
using CudaAddress = unsigned long long;
using CudaContext = struct CudaContextTag*;
using CudaStream = struct CudaStreamTag*;

/// Passed by value.
struct CudaIpcHandle {
    char reserved[kIpcHandleBytes];
};

inline constexpr CudaResult kCudaOk = 0;
inline constexpr CudaResult kCudaInvalidValue = 1;
inline constexpr CudaResult kCudaOutOfMemory = 2;
inline constexpr CudaResult kCudaNoDevice = 100;
inline constexpr CudaResult kCudaInvalidDevice = 101;
inline constexpr CudaResult kCudaInvalidContext = 201;
inline constexpr CudaResult kCudaPeerUnsupported = 217;
inline constexpr CudaResult kCudaInvalidHandle = 400;
inline constexpr CudaResult kCudaPeerEnabled = 704;
inline constexpr CudaResult kCudaPeerNotEnabled = 705;
inline constexpr CudaResult kCudaNotSupported = 801;

inline constexpr int kCudaAttributeUnifiedAddressing = 41;
inline constexpr int kCudaAttributeDmaBuf = 124;
inline constexpr int kCudaPointerMemoryType = 2;
inline constexpr int kCudaPointerManaged = 8;
inline constexpr int kCudaPointerDevice = 9;
inline constexpr int kCudaPointerBase = 11;
inline constexpr int kCudaPointerBytes = 12;
inline constexpr unsigned kCudaMemoryDevice = 2;
inline constexpr unsigned kCudaIpcLazyPeerAccess = 1;
inline constexpr int kCudaRangeDmabuf = 1;

/// NULL in the last one: a driver older than 11.7.
struct CudaDriver {
    CudaResult (*init)(unsigned flags);
    CudaResult (*driver_version)(int* version);
    CudaResult (*device_count)(int* count);
    CudaResult (*device_get)(CudaDevice* device, int ordinal);
    CudaResult (*device_attribute)(int* value, int attribute, CudaDevice device);
    CudaResult (*device_bus_id)(char* text, int bytes, CudaDevice device);
    CudaResult (*device_by_bus_id)(CudaDevice* device, const char* text);
    CudaResult (*context_retain)(CudaContext* context, CudaDevice device);
    CudaResult (*context_release)(CudaDevice device);
    CudaResult (*context_set)(CudaContext context);
    CudaResult (*context_get)(CudaContext* context);
    CudaResult (*can_access_peer)(int* can, CudaDevice device, CudaDevice peer);
    CudaResult (*enable_peer)(CudaContext peer, unsigned flags);
    CudaResult (*disable_peer)(CudaContext peer);
    CudaResult (*allocate)(CudaAddress* address, std::size_t bytes);
    CudaResult (*release)(CudaAddress address);
    CudaResult (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
    CudaResult (*host_free)(void* memory);
    CudaResult (*set_bytes)(CudaAddress address, unsigned char value, std::size_t bytes);
    CudaResult (*copy)(CudaAddress to, CudaAddress from, std::size_t bytes);
    CudaResult (*stream_synchronize)(CudaStream stream);
    CudaResult (*ipc_get)(CudaIpcHandle* handle, CudaAddress address);
    CudaResult (*ipc_open)(CudaAddress* address, CudaIpcHandle handle, unsigned flags);
    CudaResult (*ipc_close)(CudaAddress address);
    CudaResult (*pointer_attribute)(void* value, int attribute, CudaAddress address);
    CudaResult (*error_string)(CudaResult result, const char** text);
    CudaResult (*range_handle)(void* handle, CudaAddress address, std::size_t bytes, int type,
                               unsigned long long flags);
};

/// Errors: those of DriverLibrary::bind.
[[nodiscard]] Status bind_cuda(const DriverLibrary& library, CudaDriver& driver);

}  // namespace duofi::memory
