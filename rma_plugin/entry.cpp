// Control calls.
#include "rma_plugin/entry.hpp"

#include <memory>
#include <vector>

#include "common/abi/error_map.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/handle.hpp"
#include "rma_plugin/instance.hpp"
#include "rma_plugin/listen_comm.hpp"
#include "rma_plugin/properties.hpp"

namespace duofi::rma {

namespace {

ncclResult_t null_argument(const char* operation, const char* argument) noexcept {
    log::warn(log::net, messages::kRmaNullArgument, operation, argument);
    return ncclInvalidArgument;
}

/// The object behind a caller's pointer; nullptr, logged, if there is none.
template <typename T>
T* resolve(void* pointer, const char* operation, const char* argument) noexcept {
    if (in_forked_child()) [[unlikely]] {
        log::warn(log::net, messages::kRmaForkedChild, operation);
        return nullptr;
    }
    T* object = find_object<T>(pointer);
    if (object == nullptr) log::warn(log::net, messages::kRmaBadObject, operation, argument);
    return object;
}

const ofi::DeviceInfo* find_device(const Process& ready, int index, const char* operation) noexcept {
    const int count = static_cast<int>(ready.one_sided.size());
    if (index >= 0 && index < count) return &ready.one_sided[static_cast<std::size_t>(index)];
    log::warn(log::net, messages::kRmaBadDevice, operation, index, count - 1);
    return nullptr;
}

}  // namespace

ncclResult_t init(void** ctx, std::uint64_t /*comm_id*/, ncclDebugLogger_t logger, int table_version) {
    if (ctx == nullptr) return null_argument("init", "ctx");
    *ctx = nullptr;
    if (in_forked_child()) {
        log::warn(log::net, messages::kRmaForkedChild, "init");
        return ncclInvalidUsage;
    }
    const auto instance = open_instance(logger, table_version);
    if (!instance) return abi::result_of(instance.error());
    *ctx = (*instance)->handle;
    return ncclSuccess;
}

ncclResult_t finalize(void* ctx) {
    if (ctx == nullptr) return ncclSuccess;  // L-17
    Instance* instance = resolve<Instance>(ctx, "finalize", "ctx");
    if (instance == nullptr) return ncclInvalidArgument;
    close_instance(*instance);
    return ncclSuccess;
}

ncclResult_t devices(int* count) {
    if (count == nullptr) return null_argument("devices", "ndev");
    *count = 0;
    const auto ready = prepare_process();
    if (!ready) return abi::result_of(ready.error());
    *count = static_cast<int>((*ready)->one_sided.size());
    return ncclSuccess;
}

ncclResult_t get_properties(int index, ncclNetProperties_v12_t* properties) {
    if (properties == nullptr) return null_argument("getProperties", "props");
    const auto ready = prepare_process();
    if (!ready) return abi::result_of(ready.error());
    if (find_device(**ready, index, "getProperties") == nullptr) return ncclInvalidArgument;
    *properties = properties_of((*ready)->list.devices[static_cast<std::size_t>(index)], index, (*ready)->reported);
    return ncclSuccess;
}

ncclResult_t get_rma_properties(void* coll_comm, ncclRmaProperties_v16_t* properties) {
    if (properties == nullptr) return null_argument("getRmaProperties", "props");
    if (resolve<Group>(coll_comm, "getRmaProperties", "collComm") == nullptr) return ncclInvalidArgument;
    properties->flushesAllPutsOnAnySignal = false;  // not proven across the groups of a communicator
    return ncclSuccess;
}

ncclResult_t listen(void* ctx, int index, void* handle, void** listen_comm) {
    if (listen_comm == nullptr) return null_argument("listen", "listenComm");
    *listen_comm = nullptr;
    if (handle == nullptr) return null_argument("listen", "handle");
    Instance* instance = resolve<Instance>(ctx, "listen", "ctx");
    if (instance == nullptr) return ncclInvalidArgument;
    const ofi::DeviceInfo* device = find_device(*process(), index, "listen");
    if (device == nullptr) return ncclInvalidArgument;
    auto endpoint = endpoint_pool().get(*device, process()->settings, instance);
    if (!endpoint) return abi::result_of(endpoint.error());
    auto comm = std::make_unique<ListenComm>(*instance, std::move(*endpoint));
    ofi::ListenHandle where;
    if (const Status opened = comm->open(where); !opened) return abi::result_of(opened.error());
    write_handle(handle, where);
    comm->handle = open_object(*comm);
    *listen_comm = comm->handle;
    instance->add(*comm.release());
    return ncclSuccess;
}

ncclResult_t close_listen(void* listen_comm) {
    if (listen_comm == nullptr) return ncclSuccess;
    ListenComm* comm = resolve<ListenComm>(listen_comm, "closeListen", "listenComm");
    if (comm == nullptr) return ncclInvalidArgument;
    comm->instance().remove(*comm);
    end_object(*comm->handle);
    delete comm;
    return ncclSuccess;
}

namespace {

// The handles are freed after connect (C-2).
Result<std::vector<ofi::ListenHandle>> read_handles(void* handles[], int nranks, int rank, ListenComm& listener) {
    const auto endpoint = listener.share_endpoint();
    const std::uint32_t mark = ofi::provider_mark(ofi::wire_name(endpoint->domain().device().provider, fi_version()));
    std::vector<ofi::ListenHandle> read(static_cast<std::size_t>(nranks));
    for (int i = 0; i < nranks; ++i) {
        auto handle = read_handle(handles[i], mark);
        if (handle && i == rank && handle->nonce != listener.nonce())
            handle = fail(Errc::invalid_argument, "own handle");
        if (!handle) {
            log::warn(log::net, messages::kRmaBadHandle, i,
                      handle.error().code == Errc::invalid_usage ? "of another version or provider"
                      : i == rank                                ? "not the one of this listen comm"
                                                                 : "malformed");
            return tl::unexpected(handle.error());
        }
        read[static_cast<std::size_t>(i)] = *handle;
    }
    return read;
}

}  // namespace

ncclResult_t connect(void*, void* handles[], int nranks, int rank, void* listen_comm, void** coll_comm) {
    if (coll_comm == nullptr) return null_argument("connect", "collComm");
    *coll_comm = nullptr;
    if (handles == nullptr) return null_argument("connect", "handles");
    if (nranks < 1 || nranks > ListenComm::kMostRanks || rank < 0 || rank >= nranks) {
        log::warn(log::net, messages::kRmaBadRanks, nranks, rank, ListenComm::kMostRanks);
        return ncclInvalidArgument;
    }
    ListenComm* listener = resolve<ListenComm>(listen_comm, "connect", "listenComm");
    if (listener == nullptr) return ncclInvalidArgument;
    if (std::exchange(listener->used, true)) {
        log::warn(log::net, messages::kRmaListenerUsed);
        return ncclInvalidUsage;
    }
    const auto read = read_handles(handles, nranks, rank, *listener);
    if (!read) return abi::result_of(read.error());
    Instance& instance = listener->instance();
    auto group = Group::connect(*listener, *read, static_cast<std::uint32_t>(rank));
    if (!group) return group.error().code == Errc::timed_out ? ncclRemoteError : abi::result_of(group.error());
    (*group)->instance = &instance;
    (*group)->handle = open_object(**group);
    *coll_comm = (*group)->handle;
    instance.add(*group->release());
    return ncclSuccess;
}

ncclResult_t close_coll(void* coll_comm) {
    if (coll_comm == nullptr) return ncclSuccess;
    Group* group = resolve<Group>(coll_comm, "closeColl", "collComm");
    if (group == nullptr) return ncclInvalidArgument;
    group->instance->remove(*group);
    end_object(*group->handle);
    delete group;
    return ncclSuccess;
}

ncclResult_t create_context(void* coll_comm, ncclRmaConfig_v16_t* config, void** context) {
    if (context == nullptr) return null_argument("createContext", "rmaCtx");
    *context = nullptr;
    if (config == nullptr) return null_argument("createContext", "config");
    Group* group = resolve<Group>(coll_comm, "createContext", "collComm");
    if (group == nullptr) return ncclInvalidArgument;
    if (config->nContexts < 1) {
        log::warn(log::net, messages::kRmaBadConfig, config->nContexts);
        return ncclInvalidArgument;
    }
    Context& made = group->add_context(config->nContexts);  // rankStride is a hint
    *context = made.handle;
    return ncclSuccess;
}

ncclResult_t destroy_context(void* context) {
    if (context == nullptr) return ncclSuccess;
    Context* ended = resolve<Context>(context, "destroyContext", "rmaCtx");
    if (ended == nullptr) return ncclInvalidArgument;
    ended->group().end_context(*ended);
    return ncclSuccess;
}

ncclResult_t reg_mr_sym(void* coll_comm, void* data, std::size_t size, int type, std::uint64_t flags, void** mhandle) {
    if (mhandle == nullptr) return null_argument("regMrSym", "mhandle");
    *mhandle = nullptr;
    Group* group = resolve<Group>(coll_comm, "regMrSym", "collComm");
    if (group == nullptr) return ncclInvalidArgument;
    const auto window = group->windows().add(data, size, type, flags);
    if (!window) return window.error().code == Errc::timed_out ? ncclRemoteError : abi::result_of(window.error());
    *mhandle = *window;
    return ncclSuccess;
}

ncclResult_t reg_mr_sym_dmabuf(void* coll_comm, void*, std::size_t, int, std::uint64_t, int, std::uint64_t,
                               void** mhandle) {
    if (mhandle != nullptr) *mhandle = nullptr;
    if (resolve<Group>(coll_comm, "regMrSymDmaBuf", "collComm") == nullptr) return ncclInvalidArgument;
    log::warn(log::net | log::reg, messages::kRmaNoDmabuf);
    return ncclInvalidUsage;  // never advertised in ptrSupport (M-7)
}

ncclResult_t dereg_mr_sym(void*, void* mhandle) {
    if (mhandle == nullptr) return ncclSuccess;  // M-13
    Window* window = resolve<Window>(mhandle, "deregMrSym", "mhandle");
    if (window == nullptr) return ncclInvalidArgument;
    window->group().windows().remove(*window);
    return ncclSuccess;
}

}  // namespace duofi::rma
