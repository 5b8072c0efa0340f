// Devices of the Neuron runtime (libnrt.so.1), version 2. See device_runtime.hpp.
#pragma once

#include "common/memory/device_runtime.hpp"

namespace duofi::memory {

[[nodiscard]] Result<std::unique_ptr<DeviceRuntime>> open_neuron_runtime(const OpenOptions& options);

}  // namespace duofi::memory
