// Which of the caller's debug subsystems the lines of set-up belong to.
#pragma once

#include "common/abi/host_types.h"

namespace duofi::p2p {

inline constexpr unsigned long kSetupLog = NCCL_INIT | NCCL_P2P;
inline constexpr unsigned long kNetSetupLog = NCCL_INIT | NCCL_NET;

}  // namespace duofi::p2p
