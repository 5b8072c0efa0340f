// iputSignal: the put, then an add to a word of the target, never the other way round (G-5). How the two travel: lane.hpp;
// what the target does: signal/apply.cpp.
#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/data_call.hpp"
#include "rma_plugin/entry.hpp"

namespace duofi::rma {

// Weak signals are sent as strong ones, which is allowed; flags are hints (G-5, H-1).
ncclResult_t iput_signal(void* context, int stream, std::uint64_t src_off, void* src, std::size_t size,
                         std::uint64_t dst_off, void* dst, std::uint32_t rank, std::uint64_t signal_off,
                         void* signal, std::uint64_t signal_value, std::uint32_t signal_op, bool, std::uint32_t,
                         void** request) {
    if (request == nullptr) {
        log::warn(log::net, messages::kRmaNullArgument, "iputSignal", "request");
        return ncclInvalidArgument;
    }
    *request = nullptr;
    DataCall call;
    if (!begin_call(call, "iputSignal", context, stream, rank) ||
        !add_data(call, src_off, src, size, dst_off, dst) ||
        !add_signal(call, signal_off, signal, signal_value, signal_op))
        return ncclInvalidArgument;
    return start(call, false, request);
}

}  // namespace duofi::rma
