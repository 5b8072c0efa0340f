// Devices of the HIP runtime (libamdhip64.so), version 5 or later. See device_runtime.hpp.
#pragma once

#include "common/memory/device_runtime.hpp"

namespace duofi::memory {

[[nodiscard]] Result<std::unique_ptr<DeviceRuntime>> open_hip_runtime(const OpenOptions& options);

}  // namespace duofi::memory
