// The calls of every RMA table, once, in their newest form (v16). An adapter per table version drops or adds arguments
// and fills the table. Return codes: rma contract 3.14. Thread rules: rma contract 3.1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/abi/host_types.h"
#include "common/abi/rma_v16.h"

namespace duofi::rma {

[[nodiscard]] ncclResult_t init(void** ctx, std::uint64_t comm_id, ncclDebugLogger_t logger, int table_version);
[[nodiscard]] ncclResult_t devices(int* count);
[[nodiscard]] ncclResult_t get_rma_properties(void* coll_comm, ncclRmaProperties_v16_t* properties);
[[nodiscard]] ncclResult_t get_properties(int device, ncclNetProperties_v12_t* properties);
[[nodiscard]] ncclResult_t listen(void* ctx, int device, void* handle, void** listen_comm);
/// `ctx` may be anybody's pointer and is not looked at (C-3).
[[nodiscard]] ncclResult_t connect(void* ctx, void* handles[], int nranks, int rank, void* listen_comm,
                                   void** coll_comm);
[[nodiscard]] ncclResult_t create_context(void* coll_comm, ncclRmaConfig_v16_t* config, void** context);
[[nodiscard]] ncclResult_t reg_mr_sym(void* coll_comm, void* data, std::size_t size, int type, std::uint64_t flags,
                                      void** mhandle);
[[nodiscard]] ncclResult_t reg_mr_sym_dmabuf(void* coll_comm, void* data, std::size_t size, int type,
                                             std::uint64_t offset, int fd, std::uint64_t flags, void** mhandle);
[[nodiscard]] ncclResult_t dereg_mr_sym(void* coll_comm, void* mhandle);
[[nodiscard]] ncclResult_t destroy_context(void* context);
[[nodiscard]] ncclResult_t close_coll(void* coll_comm);
[[nodiscard]] ncclResult_t close_listen(void* listen_comm);
[[nodiscard]] ncclResult_t finalize(void* ctx);

// Data calls: put_get.cpp, iput_signal.cpp, test.cpp. They never block (T-5).
[[nodiscard]] ncclResult_t iput(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                                std::uint64_t dst_off, void* dst, std::uint32_t rank, std::uint32_t flags,
                                void** request);
[[nodiscard]] ncclResult_t iput_signal(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                                       std::uint64_t dst_off, void* dst, std::uint32_t rank,
                                       std::uint64_t signal_off, void* signal, std::uint64_t signal_value,
                                       std::uint32_t signal_op, bool strong, std::uint32_t flags, void** request);
[[nodiscard]] ncclResult_t iget(void* context, int stream, std::uint64_t remote_off, void* remote, std::size_t size,
                                std::uint64_t local_off, void* local, std::uint32_t rank, std::uint32_t flags,
                                void** request);
[[nodiscard]] ncclResult_t iflush(void* context, int stream, void* mhandle, std::uint32_t rank, void** request);
[[nodiscard]] ncclResult_t test(void* coll_comm, void* request, int* done);
[[nodiscard]] ncclResult_t rma_progress(void* context);
[[nodiscard]] ncclResult_t query_last_error(void* context, bool* has_error);

}  // namespace duofi::rma
