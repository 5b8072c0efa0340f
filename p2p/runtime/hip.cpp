#include "p2p/runtime/hip.hpp"

#include "p2p/runtime/device_backend.hpp"

namespace duofi::p2p {

constinit const RuntimeTable hip_runtime =
    device_backend::table("hip", [] { return device_backend::start(memory::DeviceKind::hip); });

}  // namespace duofi::p2p
