// ncclRmaPlugin_v13: every signal is strong; the table (rma contract 2.4).
#include "common/abi/boundary.hpp"
#include "common/abi/rma_v13.h"
#include "common/util/version.hpp"
#include "rma_plugin/abi/unhinted.hpp"

namespace duofi::rma::v13 {

namespace {

ncclResult_t init(void** ctx, std::uint64_t comm_id, ncclDebugLogger_t logger) {
    return rma::init(ctx, comm_id, logger, 13);
}

// Only the number of streams means something here; what the caller's device side gets is none of ours.
ncclResult_t create_context(void* coll_comm, ncclGinConfig_v13_t* config, void** context,
                            ncclNetDeviceHandle_v7_t** device_handle) {
    if (device_handle != nullptr) *device_handle = nullptr;
    if (config == nullptr) return rma::create_context(coll_comm, nullptr, context);
    ncclRmaConfig_v16_t newest{config->nContexts, config->trafficClass, 1};
    return rma::create_context(coll_comm, &newest, context);
}

ncclResult_t reg_mr_sym(void* coll_comm, void* data, std::size_t size, int type, std::uint64_t flags, void** mhandle,
                        void** gin_handle) {
    if (gin_handle != nullptr) *gin_handle = nullptr;
    return rma::reg_mr_sym(coll_comm, data, size, type, flags, mhandle);
}

ncclResult_t reg_mr_sym_dmabuf(void* coll_comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                               std::uint64_t flags, void** mhandle, void** gin_handle) {
    if (gin_handle != nullptr) *gin_handle = nullptr;
    return rma::reg_mr_sym_dmabuf(coll_comm, data, size, type, offset, fd, flags, mhandle);
}

ncclResult_t iput_signal(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                         std::uint64_t dst_off, void* dst, std::uint32_t rank, std::uint64_t signal_off, void* signal,
                         std::uint64_t value, std::uint32_t op, void** request) {
    return rma::iput_signal(context, stream, src_off, src, size, dst_off, dst, rank, signal_off, signal, value, op,
                            true, 0, request);
}

}  // namespace

}  // namespace duofi::rma::v13

namespace rma = duofi::rma;
using duofi::abi::entry;

extern "C" [[gnu::visibility("default")]] const ncclRma_v13_t ncclRmaPlugin_v13;
const ncclRma_v13_t ncclRmaPlugin_v13 = {
    .name = duofi::kPackageName,
    .init = entry<&rma::v13::init>,
    .devices = entry<&rma::devices>,
    .getProperties = entry<&rma::get_properties>,
    .listen = entry<&rma::listen>,
    .connect = entry<&rma::connect>,
    .createContext = entry<&rma::v13::create_context>,
    .regMrSym = entry<&rma::v13::reg_mr_sym>,
    .regMrSymDmaBuf = entry<&rma::v13::reg_mr_sym_dmabuf>,
    .deregMrSym = entry<&rma::dereg_mr_sym>,
    .destroyContext = entry<&rma::destroy_context>,
    .closeColl = entry<&rma::close_coll>,
    .closeListen = entry<&rma::close_listen>,
    .iput = entry<&rma::unhinted::iput>,
    .iputSignal = entry<&rma::v13::iput_signal>,
    .iget = entry<&rma::unhinted::iget>,
    .iflush = entry<&rma::iflush>,
    .test = entry<&rma::test>,
    .ginProgress = entry<&rma::rma_progress>,
    .queryLastError = entry<&rma::query_last_error>,
    .finalize = entry<&rma::finalize>,
};
