// Table of the runtime "cuda": device_backend.hpp over the driver of that name.
#pragma once

#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

extern const RuntimeTable cuda_runtime;

}  // namespace duofi::p2p
