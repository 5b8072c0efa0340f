#include "net_plugin/entry.hpp"

#include <algorithm>
#include <atomic>
#include <climits>

#include "common/abi/error_map.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/scope_exit.hpp"
#include "net_plugin/comm_registry.hpp"
#include "net_plugin/plugin.hpp"
#include "net_plugin/request.hpp"

namespace duofi::net {

namespace {

std::atomic<Plugin*> g_plugin{nullptr};
std::atomic<std::uint32_t> g_provider{0};

std::atomic<bool> g_ended{false};
/// The plugin was ended, not never there.
bool ended() noexcept { return plugin() == nullptr && g_ended.load(std::memory_order_acquire) && !in_forked_child(); }

ncclResult_t give(const Result<Request*>& posted, void** request) noexcept {
    if (!posted) return abi::result_of(posted.error());
    *request = *posted;
    return ncclSuccess;
}

ncclResult_t null_argument(const char* operation, const char* argument) noexcept {
    log::warn(log::net, messages::kNullArgument, operation, argument);
    return ncclInternalError;
}

Device* find_device(int index) noexcept {
    Device* device = plugin()->get_device(index);
    if (device == nullptr) log::warn(log::net, messages::kBadDevice, index);
    return device;
}

// On the way out of a failure; another failure on top of it is not told.
void give_back(Endpoint& endpoint) noexcept {
    try {
        endpoint.release();
    } catch (...) {
        log::trace(log::net, "NET/OFI endpoint reference could not be given back");
    }
}

Result<Endpoint*> find_endpoint(Device& device) {
    auto endpoint = device.get_endpoint();
    if (endpoint && *endpoint != nullptr) return endpoint;
    log::warn(log::net, messages::kNoEndpoint);
    if (!endpoint) return endpoint;
    return fail(Errc::internal, "get_endpoint");
}

}  // namespace

void set_plugin(Plugin* plugin) noexcept {
    g_plugin.store(plugin, std::memory_order_release);
    g_ended.store(false, std::memory_order_release);
}
void end_plugin() noexcept {
    g_ended.store(true, std::memory_order_release);
    g_plugin.store(nullptr, std::memory_order_release);
}
Plugin* plugin() noexcept { return g_plugin.load(std::memory_order_acquire); }

bool initialized(const char* operation) noexcept {
    if (plugin() == nullptr) {
        log::warn(log::net, messages::kNotInitialized);
        return false;
    }
    if (in_forked_child()) [[unlikely]] {
        log::warn(log::net, messages::kForkedChild, operation);
        return false;
    }
    return true;
}

void set_handle_provider(std::uint32_t mark) noexcept { g_provider = mark; }

ncclResult_t devices(int* count) {
    if (!initialized("devices")) return ncclInternalError;
    if (count == nullptr) return null_argument("devices", "ndev");
    *count = plugin()->device_count();
    return ncclSuccess;
}

ncclResult_t get_properties(int index, const DeviceProperties** out) {
    *out = nullptr;
    if (!initialized("getProperties")) return ncclInternalError;
    Device* device = find_device(index);
    if (device == nullptr) return ncclInternalError;
    *out = &device->properties();
    return ncclSuccess;
}

ncclResult_t listen(int index, void* handle, void** listen_comm) {
    if (listen_comm != nullptr) *listen_comm = nullptr;
    if (!initialized("listen")) return ncclInternalError;
    Device* device = find_device(index);
    if (device == nullptr) return ncclInternalError;
    if (handle == nullptr) {
        log::warn(log::net, messages::kNullHandle);
        return ncclInvalidArgument;
    }
    if (listen_comm == nullptr) return null_argument("listen", "listenComm");
    sweep_attempts();
    const auto endpoint = find_endpoint(*device);
    if (!endpoint) return abi::result_of(endpoint.error());
    ScopeExit undo([&] { give_back(**endpoint); });  // also when listen throws
    Handle described;
    const auto comm = (*endpoint)->listen(described);
    if (!comm) return abi::result_of(comm.error());
    undo.release();
    write_handle(*static_cast<HandleBytes*>(handle), described);
    *listen_comm = open_comm(CommKind::listen, **comm);
    return ncclSuccess;
}

namespace {

// A continued attempt is found through the handle, without a walk from the device.
ncclResult_t connect_step(Endpoint& endpoint, HandleBytes& bytes, const Handle& handle, CommHandle* attempt,
                          bool early, void** send_comm) {
    ScopeExit undo([&] { give_back(endpoint); });  // a first step that throws leaves no reference
    if (attempt != nullptr) undo.release();          // a later one leaves the attempt as it was
    const auto step = endpoint.connect(handle, attempt != nullptr ? static_cast<SendComm*>(attempt->comm)
                                                                  : nullptr);
    if (!step) {
        clear_connect_state(bytes);
        if (attempt == nullptr) return abi::result_of(step.error());
        drop_attempt(*attempt);
        endpoint.release();
        return abi::result_of(step.error());
    }
    undo.release();
    if (step->ready || (early && step->asked)) {
        if (attempt != nullptr) drop_attempt(*attempt);
        clear_connect_state(bytes);
        *send_comm = open_comm(CommKind::send, *step->comm);
        return ncclSuccess;
    }
    if (attempt == nullptr) attempt = open_comm(CommKind::connecting, *step->comm);
    attempt->last_call = now_ns();
    write_connect_state(bytes, {attempt, attempt->generation});
    return ncclSuccess;
}

ncclResult_t connect(int index, void* handle, bool early, void** send_comm) {
    if (send_comm != nullptr) *send_comm = nullptr;
    if (!initialized("connect")) return ncclInternalError;
    if (handle == nullptr) {
        log::warn(log::net, messages::kNullHandle);
        return ncclInvalidArgument;
    }
    if (send_comm == nullptr) return null_argument("connect", "sendComm");
    auto& bytes = *static_cast<HandleBytes*>(handle);
    const auto parsed = read_handle(bytes, g_provider);
    if (!parsed) {
        log::warn(log::net, messages::kBadHandle,
                  parsed.error().code == Errc::invalid_usage ? "of another version or provider" : "malformed");
        return abi::result_of(parsed.error());
    }
    if (const auto state = read_connect_state(bytes)) {
        if (CommHandle* attempt = find_attempt(*state))
            return connect_step(attempt->comm->endpoint(), bytes, *parsed, attempt, early, send_comm);
    }
    sweep_attempts();
    Device* device = find_device(index);
    if (device == nullptr) return ncclInternalError;
    const auto endpoint = find_endpoint(*device);
    if (!endpoint) return abi::result_of(endpoint.error());
    return connect_step(**endpoint, bytes, *parsed, nullptr, early, send_comm);
}

}  // namespace

ncclResult_t connect(int index, void* handle, void** send_comm) { return connect(index, handle, false, send_comm); }
ncclResult_t connect_early(int index, void* handle, void** send_comm) { return connect(index, handle, true, send_comm); }

ncclResult_t accept(void* listen_comm, void** recv_comm) {
    if (recv_comm != nullptr) *recv_comm = nullptr;
    if (!initialized("accept")) return ncclInternalError;
    if (recv_comm == nullptr) return null_argument("accept", "recvComm");
    auto* listener = static_cast<ListenComm*>(find_comm(listen_comm, CommKind::listen, "accept"));
    if (listener == nullptr) return ncclInternalError;
    const auto comm = listener->accept();
    if (!comm) {
        listener->endpoint().release();  // what accept had taken for the comm that failed
        return abi::result_of(comm.error());
    }
    if (*comm != nullptr) *recv_comm = open_comm(CommKind::recv, **comm);
    return ncclSuccess;
}

ncclResult_t reg_mr(void* pointer, void* data, std::size_t size, int type, void** mhandle) {
    if (mhandle != nullptr) *mhandle = nullptr;
    if (!initialized("regMr")) return ncclInternalError;
    DataComm* comm = find_data_comm(pointer, "regMr");
    if (comm == nullptr) return ncclInternalError;
    if (mhandle == nullptr) return null_argument("regMr", "mhandle");
    if (size == 0 || data == nullptr) {
        log::warn(log::net | log::reg, messages::kBadSize, "regMr", size, "at least 1 byte, data not NULL");
        return ncclInvalidArgument;
    }
    if (type != NCCL_PTR_HOST) {
        log::warn(log::net | log::reg, messages::kBadMemoryType, type);
        return ncclInvalidArgument;
    }
    const auto handle = comm->register_memory(data, size);
    if (!handle) return abi::result_of(handle.error());
    *mhandle = *handle;
    return ncclSuccess;
}

ncclResult_t reg_mr_dmabuf(void* pointer, void*, std::size_t, int, std::uint64_t, int, void** mhandle) {
    if (mhandle != nullptr) *mhandle = nullptr;
    if (!initialized("regMrDmaBuf")) return ncclInternalError;
    if (find_data_comm(pointer, "regMrDmaBuf") == nullptr) return ncclInternalError;
    log::warn(log::net | log::reg, messages::kNoDmabuf, provider_name());
    return ncclInvalidUsage;  // never advertised in ptrSupport
}

ncclResult_t dereg_mr(void*, void* mhandle) {
    if (ended()) {
        (void)drop_memory_handle_quietly(mhandle);
        return ncclInvalidArgument;
    }
    if (!initialized("deregMr")) return ncclInternalError;
    if (mhandle == nullptr) return ncclSuccess;  // what regMr of nothing would have given
    const auto dropped = drop_memory_handle(mhandle);
    return dropped ? ncclSuccess : abi::result_of(dropped.error());
}

ncclResult_t isend(void* pointer, void* data, std::size_t size, int tag, void* mhandle, void** request) {
    if (request == nullptr) return null_argument("isend", "request");
    *request = nullptr;
    if (!initialized("isend")) return ncclInternalError;
    auto* comm = static_cast<SendComm*>(find_comm(pointer, CommKind::send, "isend"));
    if (comm == nullptr) return ncclInternalError;
    return give(comm->isend(data, size, tag, mhandle), request);
}

bool check_group(const char* operation, int count, bool arrays_given) {
    if (count >= 1 && count <= kMaxGroupReceives && arrays_given) return true;
    log::warn(log::net, messages::kBadGroup, operation, count, kMaxGroupReceives);
    return false;
}

ncclResult_t irecv(void* pointer, int count, const RecvBuffer* buffers, void** request) {
    if (request == nullptr) return null_argument("irecv", "request");
    *request = nullptr;
    if (!initialized("irecv")) return ncclInternalError;
    auto* comm = static_cast<RecvComm*>(find_comm(pointer, CommKind::recv, "irecv"));
    if (comm == nullptr) return ncclInternalError;
    return give(comm->irecv(buffers, count), request);
}
ncclResult_t iflush(void* pointer, int count, const RecvBuffer* buffers, void** request) {
    if (request == nullptr) return null_argument("iflush", "request");
    *request = nullptr;
    if (!initialized("iflush")) return ncclInternalError;
    auto* comm = static_cast<RecvComm*>(find_comm(pointer, CommKind::recv, "iflush"));
    if (comm == nullptr) return ncclInternalError;
    return give(comm->iflush(buffers, count), request);
}

ncclResult_t test(void* request, int* done, int* sizes) {
    if (done != nullptr) *done = 0;  // written each time (net contract 3.5)
    if (!initialized("test")) return ncclInternalError;
    return test_request(static_cast<Request*>(request), done, sizes);
}

namespace {

ncclResult_t close_comm(void* pointer, CommKind kind, const char* operation) {
    if (ended()) {
        end_comm_if_open(pointer, kind);
        return ncclInvalidArgument;
    }
    if (!initialized(operation)) return ncclInternalError;
    if (find_comm(pointer, kind, operation) == nullptr) return ncclInternalError;
    end_comm(*static_cast<CommHandle*>(pointer));
    sweep_attempts();
    return ncclSuccess;
}

}  // namespace

ncclResult_t close_send(void* comm) { return close_comm(comm, CommKind::send, "closeSend"); }
ncclResult_t close_recv(void* comm) { return close_comm(comm, CommKind::recv, "closeRecv"); }
ncclResult_t close_listen(void* comm) { return close_comm(comm, CommKind::listen, "closeListen"); }

std::size_t open_comms() noexcept { return comm_count(); }

}  // namespace duofi::net
