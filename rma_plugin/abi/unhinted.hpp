// Entries of the tables without operation flags, v13 and v14: the newest calls with no hint (rma contract 2.4, 2.5).
#pragma once

#include "rma_plugin/entry.hpp"

namespace duofi::rma::unhinted {

inline ncclResult_t iput(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                         std::uint64_t dst_off, void* dst, std::uint32_t rank, void** request) {
    return rma::iput(context, stream, src_off, src, size, dst_off, dst, rank, 0, request);
}

inline ncclResult_t iget(void* context, int stream, std::uint64_t remote_off, void* remote, std::size_t size,
                         std::uint64_t local_off, void* local, std::uint32_t rank, void** request) {
    return rma::iget(context, stream, remote_off, remote, size, local_off, local, rank, 0, request);
}

}  // namespace duofi::rma::unhinted
