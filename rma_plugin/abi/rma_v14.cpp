// ncclRmaPlugin_v14: the table (rma contract 2.5).
#include "common/abi/boundary.hpp"
#include "common/abi/rma_v14.h"
#include "common/util/version.hpp"
#include "rma_plugin/abi/unhinted.hpp"

namespace duofi::rma::v14 {

namespace {

ncclResult_t init(void** ctx, std::uint64_t comm_id, ncclDebugLogger_t logger) {
    return rma::init(ctx, comm_id, logger, 14);
}

ncclResult_t iput_signal(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                         std::uint64_t dst_off, void* dst, std::uint32_t rank, std::uint64_t signal_off, void* signal,
                         std::uint64_t value, std::uint32_t op, bool strong, void** request) {
    return rma::iput_signal(context, stream, src_off, src, size, dst_off, dst, rank, signal_off, signal, value, op,
                            strong, 0, request);
}

}  // namespace

}  // namespace duofi::rma::v14

namespace rma = duofi::rma;
using duofi::abi::entry;

extern "C" [[gnu::visibility("default")]] const ncclRma_v14_t ncclRmaPlugin_v14;
const ncclRma_v14_t ncclRmaPlugin_v14 = {
    .name = duofi::kPackageName,
    .init = entry<&rma::v14::init>,
    .devices = entry<&rma::devices>,
    .getProperties = entry<&rma::get_properties>,
    .listen = entry<&rma::listen>,
    .connect = entry<&rma::connect>,
    .createContext = entry<&rma::create_context>,
    .regMrSym = entry<&rma::reg_mr_sym>,
    .regMrSymDmaBuf = entry<&rma::reg_mr_sym_dmabuf>,
    .deregMrSym = entry<&rma::dereg_mr_sym>,
    .destroyContext = entry<&rma::destroy_context>,
    .closeColl = entry<&rma::close_coll>,
    .closeListen = entry<&rma::close_listen>,
    .iput = entry<&rma::unhinted::iput>,
    .iputSignal = entry<&rma::v14::iput_signal>,
    .iget = entry<&rma::unhinted::iget>,
    .iflush = entry<&rma::iflush>,
    .test = entry<&rma::test>,
    .rmaProgress = entry<&rma::rma_progress>,
    .queryLastError = entry<&rma::query_last_error>,
    .finalize = entry<&rma::finalize>,
};
