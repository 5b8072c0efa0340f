// ncclRmaPlugin_v16: the table (rma contract 2.7).
#include "common/abi/boundary.hpp"
#include "common/abi/rma_v16.h"
#include "common/util/version.hpp"
#include "rma_plugin/entry.hpp"

namespace duofi::rma::v16 {

namespace {

ncclResult_t init(void** ctx, std::uint64_t comm_id, ncclDebugLogger_t logger) {
    return rma::init(ctx, comm_id, logger, 16);
}

}  // namespace

}  // namespace duofi::rma::v16

namespace rma = duofi::rma;
using duofi::abi::entry;

extern "C" [[gnu::visibility("default")]] const ncclRma_v16_t ncclRmaPlugin_v16;
const ncclRma_v16_t ncclRmaPlugin_v16 = {
    .name = duofi::kPackageName,
    .init = entry<&rma::v16::init>,
    .devices = entry<&rma::devices>,
    .getRmaProperties = entry<&rma::get_rma_properties>,
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
    .iput = entry<&rma::iput>,
    .iputSignal = entry<&rma::iput_signal>,
    .iget = entry<&rma::iget>,
    .iflush = entry<&rma::iflush>,
    .test = entry<&rma::test>,
    .rmaProgress = entry<&rma::rma_progress>,
    .queryLastError = entry<&rma::query_last_error>,
    .finalize = entry<&rma::finalize>,
};
