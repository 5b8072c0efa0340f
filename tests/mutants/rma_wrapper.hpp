// An RMA table around the real one in the form of v16, each clause broken on demand. Any thread, as
// the table.
#pragma once

#include "tests/mutants/rma_shadow.hpp"

namespace duofi::mutants {

class RmaWrapper {
  public:
    /// The wrapper of the real table of that version (13 or 16).
    static RmaWrapper& of(int version);

    ncclResult_t init(void** ctx, std::uint64_t comm_id, ncclDebugLogger_t logger);
    ncclResult_t devices(int* count) { return real_.devices(count); }
    ncclResult_t rma_properties(void* coll, ncclRmaProperties_v16_t* properties);
    ncclResult_t properties(int dev, ncclNetProperties_v12_t* properties);
    ncclResult_t listen(void* ctx, int dev, void* handle, void** comm);
    ncclResult_t connect(void* ctx, void* handles[], int ranks, int rank, void* listener,
                         void** coll);
    ncclResult_t create_context(void* coll, ncclRmaConfig_v16_t* config, void** ctx);
    ncclResult_t reg_mr_sym(void* coll, void* data, std::size_t bytes, int type,
                            std::uint64_t flags, void** handle);
    ncclResult_t reg_mr_sym_dma_buf(void* coll, void* data, std::size_t bytes, int type,
                                    std::uint64_t offset, int fd, std::uint64_t flags,
                                    void** handle);
    ncclResult_t dereg_mr_sym(void* coll, void* handle);
    ncclResult_t destroy_context(void* ctx);
    ncclResult_t close_coll(void* coll);
    ncclResult_t close_listen(void* listener);
    ncclResult_t finalize(void* ctx);

    ncclResult_t iput(void* ctx, RmaPut put, void** request);
    ncclResult_t iput_signal(void* ctx, RmaPut put, RmaSignal signal, void** request);
    ncclResult_t iget(void* ctx, RmaGet get, void** request);
    ncclResult_t iflush(void* ctx, int context, void* handle, std::uint32_t rank, void** request);
    ncclResult_t test(void* coll, void* request, int* done);
    ncclResult_t progress(void* ctx);
    ncclResult_t query_last_error(void* ctx, bool* failed);

  private:
    explicit RmaWrapper(int version);

    ncclResult_t post_put(void* ctx, const RmaPut& put, void** request);
    ncclResult_t post_signal(void* ctx, const RmaPut& put, const RmaSignal& signal, void** request);
    bool refuses(void* ctx, const RmaPut& put);
    void bend(void* ctx, RmaPut& put);
    void bend_target(const Group& group, RmaPut& put);
    void bend_signal(void* ctx, const RmaPut& put, RmaSignal& signal);
    ncclResult_t after_call(void* ctx, const RmaPut& put, ncclResult_t result, void* garbage,
                            void** request);
    void* finished_token();
    /// A request that stands for `post`, which happens at its first test.
    void* put_off(void* coll, std::function<ncclResult_t(void**)> post);
    /// A request for two operations.
    void* both_of(void* coll, void* first, void* second);
    /// Done at once; `post` happens at the next data call.
    void* too_early(void* ctx, std::function<ncclResult_t(void**)> post);
    void* coll_of(void* ctx);
    ncclResult_t signal_out_of_order(void* ctx, const RmaPut& put, const RmaSignal& signal,
                                     void** request, bool& handled);
    ncclResult_t test_real(void* coll, void* request, int* done);

    int version_;
    loader::RmaTable real_;
    Shadow shadow_;
};

}  // namespace duofi::mutants
