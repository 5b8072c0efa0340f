// The functions of p2p/p2p.h that have to do with communicators.
#include <memory>
#include <string>
#include <utility>

#include "common/abi/boundary.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "common/util/version.hpp"
#include "p2p/api_comm.hpp"
#include "p2p/protocol_names.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/net_context.hpp"

namespace duofi::p2p {

Status bad_argument(const char* function, const char* what, unsigned long subsystems) {
    log::warn(subsystems, messages::kP2pBadArgument, function, what);
    return fail(Errc::invalid_argument, function);
}

namespace {

Result<CommunicatorOptions> options_of(const duofiP2pConfig* config) {
    CommunicatorOptions options;
    DUOFI_ASSIGN(options.settings, load_settings());
    if (config == nullptr) return options;
    options.device = config->device;
    options.channels = config->channels;
    if (config->timeoutMs < 0)
        return tl::unexpected(bad_argument("duofiP2pCommCreate", "the time is negative").error());
    options.timeout = config->timeoutMs * kMillisecond;
    for (std::size_t i = 0; i < options.buffer_bytes.size(); ++i) {
        if (config->buffSize[i] < 0)
            return tl::unexpected(bad_argument("duofiP2pCommCreate", "a buffer size is negative").error());
        options.buffer_bytes[i] = static_cast<std::size_t>(config->buffSize[i]);
    }
    return options;
}

ProtocolSet allowed_protocols() {
    const std::string text = users_protocols();
    const Result<ProtocolSet> set = parse_protocols(text);
    if (set) return *set;
    log::warn(NCCL_ENV, messages::kP2pBadSetting, "NCCL_PROTO", text, "LL, LL128, Simple, ^LL ...");
    return kAllProtocols;
}

Status create(duofiP2pComm** comm, const duofiP2pBootstrap* functions,
              const duofiP2pConfig* config) {
    adopt_logger(config != nullptr ? config->logger : nullptr);
    if (comm == nullptr || functions == nullptr)
        return bad_argument("duofiP2pCommCreate", "an argument is NULL");
    *comm = nullptr;
    if (config != nullptr && config->version != DUOFI_P2P_CONFIG_VERSION)
        return bad_argument("duofiP2pCommCreate", "the configuration has another version");
    auto made = std::make_unique<duofiP2pComm>();
    Bootstrap* bootstrap = ready_made(*functions);
    if (bootstrap == nullptr) {
        made->bootstrap = caller_bootstrap(*functions);
        bootstrap = made->bootstrap.get();
    }
    if (bootstrap == nullptr) return bad_argument("duofiP2pCommCreate", "the bootstrap is incomplete");
    DUOFI_ASSIGN(CommunicatorOptions options, options_of(config));
    options.protocols = allowed_protocols();
    DUOFI_ASSIGN(made->communicator, Communicator::create(*bootstrap, options));
    made->operations = std::make_unique<Operations>(*made->communicator, options.protocols);
    *comm = made.release();
    return {};
}

Status destroy(duofiP2pComm* comm) {
    const std::unique_ptr<duofiP2pComm> owned(comm);
    if (comm->communicator->in_forked_child()) {
        // Its threads are the parent's.
        static_cast<void>(comm->operations.release());
        return {};
    }
    comm->operations.reset();
    return comm->communicator->tear_down();
}

Status connect_ring(duofiP2pComm* comm) {
    return comm->communicator->connect_ring();
}
Status connect_all(duofiP2pComm* comm) {
    return comm->communicator->connect_all();
}

Status edge(duofiP2pComm* comm, int peer, const char** text) {
    if (text == nullptr || !comm->communicator->comm().known(peer))
        return bad_argument("duofiP2pEdge", "no such rank, or an argument is NULL");
    *text = comm->communicator->edge_text(peer);
    return {};
}

Status allocate(void** memory, std::size_t bytes) {
    if (memory == nullptr || bytes == 0)
        return bad_argument("duofiP2pMemAlloc", "no bytes, or an argument is NULL");
    DUOFI_ASSIGN(void* made, runtime::allocate(bytes));
    // All of it at once: users touch it without asking again.
    if (Status reserved = runtime::reserve(made, bytes); !reserved) {
        static_cast<void>(runtime::free(made));
        return reserved;
    }
    *memory = made;
    return {};
}

Status release(void* memory) {
    return runtime::free(memory);
}

}  // namespace
}  // namespace duofi::p2p

extern "C" {

using namespace duofi::p2p;

ncclResult_t duofiP2pConfigInit(duofiP2pConfig* config) {
    if (config == nullptr) return ncclInvalidArgument;
    *config = {};
    config->version = DUOFI_P2P_CONFIG_VERSION;
    return ncclSuccess;
}

ncclResult_t duofiP2pCommCreate(duofiP2pComm** comm, const duofiP2pBootstrap* bootstrap,
                                const duofiP2pConfig* config) {
    constexpr decltype(&duofiP2pCommCreate) call = duofi::abi::entry<&create>;
    forget_warning();
    return call(comm, bootstrap, config);
}

ncclResult_t duofiP2pCommDestroy(duofiP2pComm* comm) {
    if (comm == nullptr) return ncclSuccess;
    constexpr decltype(&duofiP2pCommDestroy) call = duofi::abi::entry<&destroy>;
    return call(comm);
}

ncclResult_t duofiP2pCommAbort(duofiP2pComm* comm) {
    if (comm == nullptr) return ncclInvalidArgument;
    comm->communicator->abort();
    return ncclSuccess;
}

ncclResult_t duofiP2pCommRank(const duofiP2pComm* comm, int* rank) {
    if (comm == nullptr || rank == nullptr) return ncclInvalidArgument;
    *rank = comm->communicator->comm().rank;
    return ncclSuccess;
}

ncclResult_t duofiP2pCommSize(const duofiP2pComm* comm, int* size) {
    if (comm == nullptr || size == nullptr) return ncclInvalidArgument;
    *size = comm->communicator->comm().n_ranks;
    return ncclSuccess;
}

ncclResult_t duofiP2pCommGetAsyncError(const duofiP2pComm* comm, ncclResult_t* error,
                                       int* deadRank) {
    if (comm == nullptr || error == nullptr) return ncclInvalidArgument;
    const ncclComm& inner = comm->communicator->comm();
    *error = inner.aborted() ? ncclRemoteError : ncclSuccess;
    if (deadRank != nullptr) *deadRank = inner.lost_rank();
    return ncclSuccess;
}

const char* duofiP2pGetLastError(const duofiP2pComm* comm) {
    return comm != nullptr ? comm->last_error.c_str() : last_warning().c_str();
}

const char* duofiP2pVersion(void) {
    return duofi::kVersionText;
}

ncclResult_t duofiP2pConnectRing(duofiP2pComm* comm) {
    return guarded<&connect_ring>(comm);
}
ncclResult_t duofiP2pConnectAll(duofiP2pComm* comm) {
    return guarded<&connect_all>(comm);
}

ncclResult_t duofiP2pEdge(const duofiP2pComm* comm, int peer, const char** text) {
    return guarded<&edge>(const_cast<duofiP2pComm*>(comm), peer, text);
}

ncclResult_t duofiP2pMemAlloc(void** memory, size_t bytes) {
    constexpr decltype(&duofiP2pMemAlloc) call = duofi::abi::entry<&allocate>;
    return call(memory, bytes);
}

ncclResult_t duofiP2pMemFree(void* memory) {
    constexpr decltype(&duofiP2pMemFree) call = duofi::abi::entry<&release>;
    return call(memory);
}
}
