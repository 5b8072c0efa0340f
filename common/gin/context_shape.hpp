// What one rmaCtx is to be like, and where it reports to. Values only.
#pragma once

#include <cstdint>

#include "common/abi/rma_v16.h"
#include "common/gin/stream.hpp"
#include "common/gin/trace.hpp"
#include "common/util/clock.hpp"

namespace duofi::gin {

/// Descriptors that one pass takes from one ring unless told otherwise (rma contract 4.5).
inline constexpr int kDefaultPollBatch = 32;

struct ContextShape {
    int contexts = 1;
    int signals = 0;   ///< per context, for the user; as many words as there are peers follow
    int counters = 0;  ///< per context
    std::int64_t queue_size = -1;        ///< NCCL_GIN_PROXY_QUEUE_SIZE; -1 = by maxRecvs
    int poll_batch = kDefaultPollBatch;  ///< NCCL_GIN_PROXY_POLL_BATCH, at least 1
    int rank_stride = 1;
    int traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEF;
    std::uint64_t signal_flags = NCCL_NET_MR_FLAG_FORCE_SO | NCCL_NET_MR_FLAG_SIGNAL_NEVER_RESET;
    bool strict = true;  ///< success with a NULL request is a failure (Q-1); callers test it
    Nanoseconds write_limit = 10 * kSecond;  ///< longest wait for the rest of a descriptor
    std::uint64_t pause_seed = 0;  ///< RandomPauses of the producers and the proxy; 0 = none
};

/// Where an rmaCtx reports to. All may be empty.
struct Observers {
    StreamRecorder* recorder = nullptr;
    Trace* trace = nullptr;
};

}  // namespace duofi::gin
