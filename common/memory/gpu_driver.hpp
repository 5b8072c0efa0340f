// What the CUDA driver and the HIP runtime have in common: HIP took over the numbers of CUDA's errors and the form of its
// handles (public headers cuda.h, hip_runtime_api.h). Functions from any thread.
#pragma once

#include "common/memory/device_runtime.hpp"

namespace duofi::memory {

using GpuResult = int;

inline constexpr GpuResult kGpuOk = 0;
inline constexpr GpuResult kGpuInvalidValue = 1;
inline constexpr GpuResult kGpuOutOfMemory = 2;
inline constexpr GpuResult kGpuInvalidDevice = 101;
inline constexpr GpuResult kGpuInvalidContext = 201;
inline constexpr GpuResult kGpuPeerUnsupported = 217;
inline constexpr GpuResult kGpuInvalidHandle = 400;
inline constexpr GpuResult kGpuPeerEnabled = 704;
inline constexpr GpuResult kGpuPeerNotEnabled = 705;
inline constexpr GpuResult kGpuNotSupported = 801;

inline constexpr unsigned kGpuIpcLazyPeerAccess = 1;
inline constexpr unsigned kGpuHostPortable = 1;
inline constexpr int kGpuRangeDmabuf = 1;
inline constexpr int kGpuBusIdBytes = 32;

/// Passed by value.
struct GpuIpcHandle {
    char reserved[kIpcHandleBytes];
};
[[nodiscard]] IpcHandle bytes_of(const GpuIpcHandle& handle) noexcept;
[[nodiscard]] GpuIpcHandle gpu_handle_of(const IpcHandle& bytes) noexcept;

/// Success, or the driver's code with its class; `call` names the function that gave it.
[[nodiscard]] Status gpu_status(GpuResult result, const char* call);

/// `bytes` in whole kDeviceUnits. Errors: invalid_argument for none and for too many.
[[nodiscard]] Result<std::size_t> whole_units(std::size_t bytes, const char* call);

/// Handles are made of whole allocations: the drivers would quietly take the one around a pointer. Errors: invalid_argument.
[[nodiscard]] Status check_whole_allocation(const PointerFacts& facts, const void* memory);

/// Whole pages of the CPU around a range of device memory.
struct PageRange {
    std::uintptr_t first = 0;
    std::size_t bytes = 0;
    std::uint64_t offset = 0;  ///< of the range in them
};
/// `facts` are those of `pointer`. Errors: invalid_argument (not device memory, empty, or beyond its end).
[[nodiscard]] Result<PageRange> pages_around(const PointerFacts& facts, const void* pointer, std::size_t bytes);

}  // namespace duofi::memory
