// Table of the runtime "unified": one address space for all ranks, which are threads. Handles and copies mean nothing,
// as on machines whose devices share their memory (p2p contract 2.2).
#pragma once

#include "p2p/runtime/runtime_table.hpp"

namespace duofi::p2p {

extern const RuntimeTable unified_runtime;

}  // namespace duofi::p2p
