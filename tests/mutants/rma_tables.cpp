// ncclRmaPlugin_v16 and ncclRmaPlugin_v13 of the wrapper.
#include "common/abi/rma_v13.h"
#include "tests/mutants/active.hpp"
#include "tests/mutants/rma_wrapper.hpp"

namespace duofi::mutants {

RmaWrapper& RmaWrapper::of(int version) {
    static auto* const newest = new RmaWrapper(16);
    static auto* const oldest = new RmaWrapper(13);
    return version == 13 ? *oldest : *newest;
}

RmaWrapper::RmaWrapper(int version)
    : version_(version),
      real_(real_symbol(version == 13 ? "ncclRmaPlugin_v13" : "ncclRmaPlugin_v16"), version) {}

namespace {

// A table entry that calls the method of the same form on the wrapper of version V.
template <int V, auto Method>
struct Entry;

template <int V, typename... Args, ncclResult_t (RmaWrapper::*Method)(Args...)>
struct Entry<V, Method> {
    static ncclResult_t call(Args... args) { return (RmaWrapper::of(V).*Method)(args...); }
};

template <int V, auto Method>
constexpr auto kEntry = &Entry<V, Method>::call;

ncclResult_t iput_v16(void* ctx, int context, std::uint64_t from, void* source, std::size_t bytes,
                      std::uint64_t to, void* target, std::uint32_t rank, std::uint32_t flags,
                      void** request) {
    return RmaWrapper::of(16).iput(ctx, {context, from, source, bytes, to, target, rank, flags},
                                   request);
}

ncclResult_t iput_signal_v16(void* ctx, int context, std::uint64_t from, void* source,
                             std::size_t bytes, std::uint64_t to, void* target, std::uint32_t rank,
                             std::uint64_t at, void* region, std::uint64_t value, std::uint32_t op,
                             bool strong, std::uint32_t flags, void** request) {
    return RmaWrapper::of(16).iput_signal(ctx,
                                          {context, from, source, bytes, to, target, rank, flags},
                                          {at, region, value, op, strong}, request);
}

ncclResult_t iget_v16(void* ctx, int context, std::uint64_t from, void* remote, std::size_t bytes,
                      std::uint64_t to, void* local, std::uint32_t rank, std::uint32_t flags,
                      void** request) {
    return RmaWrapper::of(16).iget(ctx, {context, from, remote, bytes, to, local, rank, flags},
                                   request);
}

ncclResult_t create_context_v13(void* coll, ncclGinConfig_v13_t* config, void** ctx,
                                ncclNetDeviceHandle_v7_t** device) {
    ncclRmaConfig_v16_t newer{config->nContexts, config->trafficClass, 1};
    *device = nullptr;
    return RmaWrapper::of(13).create_context(coll, &newer, ctx);
}

ncclResult_t reg_mr_sym_v13(void* coll, void* data, std::size_t bytes, int type,
                            std::uint64_t flags, void** handle, void** gin_handle) {
    *gin_handle = nullptr;
    return RmaWrapper::of(13).reg_mr_sym(coll, data, bytes, type, flags, handle);
}

ncclResult_t reg_mr_sym_dma_buf_v13(void* coll, void* data, std::size_t bytes, int type,
                                    std::uint64_t offset, int fd, std::uint64_t flags,
                                    void** handle, void** gin_handle) {
    *gin_handle = nullptr;
    return RmaWrapper::of(13).reg_mr_sym_dma_buf(coll, data, bytes, type, offset, fd, flags,
                                                 handle);
}

ncclResult_t iput_v13(void* ctx, int context, std::uint64_t from, void* source, std::size_t bytes,
                      std::uint64_t to, void* target, std::uint32_t rank, void** request) {
    return RmaWrapper::of(13).iput(ctx, {context, from, source, bytes, to, target, rank, 0},
                                   request);
}

ncclResult_t iput_signal_v13(void* ctx, int context, std::uint64_t from, void* source,
                             std::size_t bytes, std::uint64_t to, void* target, std::uint32_t rank,
                             std::uint64_t at, void* region, std::uint64_t value, std::uint32_t op,
                             void** request) {
    return RmaWrapper::of(13).iput_signal(ctx, {context, from, source, bytes, to, target, rank, 0},
                                          {at, region, value, op, true}, request);
}

ncclResult_t iget_v13(void* ctx, int context, std::uint64_t from, void* remote, std::size_t bytes,
                      std::uint64_t to, void* local, std::uint32_t rank, void** request) {
    return RmaWrapper::of(13).iget(ctx, {context, from, remote, bytes, to, local, rank, 0},
                                   request);
}

}  // namespace
}  // namespace duofi::mutants

using duofi::mutants::kEntry;
using duofi::mutants::RmaWrapper;

extern "C" __attribute__((visibility("default"))) const ncclRma_v16_t ncclRmaPlugin_v16 = {
    "duofi",
    kEntry<16, &RmaWrapper::init>,
    kEntry<16, &RmaWrapper::devices>,
    kEntry<16, &RmaWrapper::rma_properties>,
    kEntry<16, &RmaWrapper::properties>,
    kEntry<16, &RmaWrapper::listen>,
    kEntry<16, &RmaWrapper::connect>,
    kEntry<16, &RmaWrapper::create_context>,
    kEntry<16, &RmaWrapper::reg_mr_sym>,
    kEntry<16, &RmaWrapper::reg_mr_sym_dma_buf>,
    kEntry<16, &RmaWrapper::dereg_mr_sym>,
    kEntry<16, &RmaWrapper::destroy_context>,
    kEntry<16, &RmaWrapper::close_coll>,
    kEntry<16, &RmaWrapper::close_listen>,
    &duofi::mutants::iput_v16,
    &duofi::mutants::iput_signal_v16,
    &duofi::mutants::iget_v16,
    kEntry<16, &RmaWrapper::iflush>,
    kEntry<16, &RmaWrapper::test>,
    kEntry<16, &RmaWrapper::progress>,
    kEntry<16, &RmaWrapper::query_last_error>,
    kEntry<16, &RmaWrapper::finalize>,
};

extern "C" __attribute__((visibility("default"))) const ncclRma_v13_t ncclRmaPlugin_v13 = {
    "duofi",
    kEntry<13, &RmaWrapper::init>,
    kEntry<13, &RmaWrapper::devices>,
    kEntry<13, &RmaWrapper::properties>,
    kEntry<13, &RmaWrapper::listen>,
    kEntry<13, &RmaWrapper::connect>,
    &duofi::mutants::create_context_v13,
    &duofi::mutants::reg_mr_sym_v13,
    &duofi::mutants::reg_mr_sym_dma_buf_v13,
    kEntry<13, &RmaWrapper::dereg_mr_sym>,
    kEntry<13, &RmaWrapper::destroy_context>,
    kEntry<13, &RmaWrapper::close_coll>,
    kEntry<13, &RmaWrapper::close_listen>,
    &duofi::mutants::iput_v13,
    &duofi::mutants::iput_signal_v13,
    &duofi::mutants::iget_v13,
    kEntry<13, &RmaWrapper::iflush>,
    kEntry<13, &RmaWrapper::test>,
    kEntry<13, &RmaWrapper::progress>,
    kEntry<13, &RmaWrapper::query_last_error>,
    kEntry<13, &RmaWrapper::finalize>,
};
