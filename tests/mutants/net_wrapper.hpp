// Inside of the net wrapper: the real table and what is remembered of requests.
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>

#include "common/abi/net_v6.h"

namespace duofi::mutants {

[[nodiscard]] const ncclNet_v6_t& real_net();

/// An operation as the caller asked for it.
struct NetOperation {
    bool is_send = false;
    int parts = 1;
    std::array<void*, NCCL_NET_MAX_RECVS> data{};
    std::array<int, NCCL_NET_MAX_RECVS> sizes{};
    int tests = 0;
};

ncclResult_t mutant_isend(void* comm, void* data, int size, int tag, void* mhandle, void** request);
ncclResult_t mutant_irecv(void* comm, int n, void** data, int* sizes, int* tags, void** mhandles,
                          void** request);
ncclResult_t mutant_iflush(void* comm, int n, void** data, int* sizes, void** mhandles,
                           void** request);
ncclResult_t mutant_test(void* request, int* done, int* sizes);

}  // namespace duofi::mutants
