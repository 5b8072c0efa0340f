// An RMA table of version 13 to 16 in the form of v16, adapted as the newer callers adapt older
// tables (rma contract 1.3). No call allocates. Threads: the object is a value without state; each
// call has the thread rule of the table entry (rma contract 3.1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/abi/rma_v16.h"

namespace duofi::loader {

/// Arguments of iput. Offsets are bytes from the registered base of the rank that owns the memory
/// (M-3).
struct RmaPut {
    int context = 0;
    std::uint64_t src_offset = 0;
    void* src = nullptr;  ///< handle of the local region
    std::size_t bytes = 0;
    std::uint64_t dst_offset = 0;
    void* dst = nullptr;  ///< own handle of the region on the target
    std::uint32_t rank = 0;
    std::uint32_t flags = NCCL_RMA_OPT_FLAGS_DEFAULT;  ///< dropped below v15
};

/// The signal half of iputSignal.
struct RmaSignal {
    std::uint64_t offset = 0;
    void* handle = nullptr;
    std::uint64_t value = 0;  ///< ignored for INC (G-2)
    std::uint32_t op = NCCL_NET_SIGNAL_OP_INC;
    bool strong = true;  ///< v13 has only strong signals
};

/// Arguments of iget.
struct RmaGet {
    int context = 0;
    std::uint64_t remote_offset = 0;
    void* remote = nullptr;
    std::size_t bytes = 0;
    std::uint64_t local_offset = 0;
    void* local = nullptr;
    std::uint32_t rank = 0;
    std::uint32_t flags = NCCL_RMA_OPT_FLAGS_DEFAULT;  ///< dropped below v15
};

/// A view; owns nothing. The table must stay loaded.
class RmaTable {
  public:
    RmaTable() = default;
    /// `version` is 13 to 16; anything else makes a view that is false.
    RmaTable(const void* table, int version) noexcept;
    explicit RmaTable(const ncclRma_v16_t* table) noexcept : RmaTable(table, 16) {}

    explicit operator bool() const noexcept { return table_ != nullptr; }
    [[nodiscard]] int version() const noexcept { return version_; }
    [[nodiscard]] const char* name() const noexcept;
    [[nodiscard]] const void* raw() const noexcept { return table_; }

    ncclResult_t init(void** instance, std::uint64_t comm_id, ncclDebugLogger_t logger) const;
    ncclResult_t devices(int* count) const;
    /// Below v16: the answer is false without a call.
    ncclResult_t rma_properties(void* group, ncclRmaProperties_v16_t* properties) const;
    ncclResult_t properties(int device, ncclNetProperties_v12_t* properties) const;
    ncclResult_t listen(void* instance, int device, void* handle, void** listener) const;
    ncclResult_t connect(void* instance, void* handles[], int ranks, int rank, void* listener,
                         void** group) const;
    /// v13: only nContexts and trafficClass are passed on; the other numbers are 0.
    ncclResult_t create_context(void* group, ncclRmaConfig_v16_t* config, void** context) const;
    ncclResult_t reg_mr_sym(void* group, void* data, std::size_t bytes, int type,
                            std::uint64_t flags, void** handle) const;
    /// ncclInvalidUsage without a call when the entry is empty (L-24).
    ncclResult_t reg_mr_sym_dma_buf(void* group, void* data, std::size_t bytes, int type,
                                    std::uint64_t offset, int fd, std::uint64_t flags,
                                    void** handle) const;
    ncclResult_t dereg_mr_sym(void* group, void* handle) const;
    ncclResult_t destroy_context(void* context) const;
    ncclResult_t close_coll(void* group) const;
    ncclResult_t close_listen(void* listener) const;

    ncclResult_t iput(void* context, const RmaPut& put, void** request) const;
    ncclResult_t iput_signal(void* context, const RmaPut& put, const RmaSignal& signal,
                             void** request) const;
    ncclResult_t iget(void* context, const RmaGet& get, void** request) const;
    /// ncclInvalidUsage without a call when the entry is empty (L-24).
    ncclResult_t iflush(void* context, int index, void* handle, std::uint32_t rank,
                        void** request) const;
    ncclResult_t test(void* group, void* request, int* done) const;
    /// Success without a call when the entry is empty.
    ncclResult_t progress(void* context) const;
    /// Answers false without a call when the entry is empty.
    ncclResult_t query_last_error(void* context, bool* has_error) const;
    ncclResult_t finalize(void* instance) const;

  private:
    const void* table_ = nullptr;
    int version_ = 0;
};

}  // namespace duofi::loader
