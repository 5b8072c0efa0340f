// Table of the runtime "neuron": device_backend.hpp over the driver of that name; one address space for all, so handles mean nothing (T-5).
#pragma once

#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

extern const RuntimeTable neuron_runtime;

}  // namespace duofi::p2p
