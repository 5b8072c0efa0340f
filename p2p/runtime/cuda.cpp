#include "p2p/runtime/cuda.hpp"

#include "p2p/runtime/device_backend.hpp"

namespace duofi::p2p {

constinit const RuntimeTable cuda_runtime =
    device_backend::table("cuda", [] { return device_backend::start(memory::DeviceKind::cuda); });

}  // namespace duofi::p2p
