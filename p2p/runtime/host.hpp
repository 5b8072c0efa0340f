// Table of the runtime "host": shared memory segments and the CPUs of this machine (p2p contract 2.3-2.6).
#pragma once

#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

extern const RuntimeTable host_runtime;

}  // namespace duofi::p2p
