// Devices of the CUDA driver (libcuda.so.1), version 11.0 or later. See device_runtime.hpp.
#pragma once

#include "common/memory/device_runtime.hpp"

namespace duofi::memory {

[[nodiscard]] Result<std::unique_ptr<DeviceRuntime>> open_cuda_runtime(const OpenOptions& options);

}  // namespace duofi::memory
