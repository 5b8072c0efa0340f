#include "common/loader/rma_client.hpp"

#include <sched.h>

#include <array>
#include <vector>

namespace duofi::loader {
namespace {

tl::unexpected<NetFailure> refused(ncclResult_t result, const char* call) {
    return tl::unexpected(NetFailure{result, false, call});
}

/// The callers poll without a pause; giving the core away keeps ranks that share one moving.
void pause_poll() noexcept {
    ::sched_yield();
}

/// success with a NULL request stops the callers.
NetResult<RmaOperation> posted(ncclResult_t result, const RmaContext& context, void* request,
                               const char* call) {
    if (result != ncclSuccess) return refused(result, call);
    if (request == nullptr) return refused(ncclInternalError, call);
    return RmaOperation{context.owner(), request};
}

}  // namespace

ncclResult_t FinalizeInstance::operator()(const RmaTable& table, void*, void* object) const {
    return table.finalize(object);
}
ncclResult_t CloseListener::operator()(const RmaTable& table, void*, void* object) const {
    return table.close_listen(object);
}
ncclResult_t CloseGroup::operator()(const RmaTable& table, void*, void* object) const {
    return table.close_coll(object);
}
ncclResult_t DestroyContext::operator()(const RmaTable& table, void*, void* object) const {
    return table.destroy_context(object);
}
ncclResult_t DeregisterWindow::operator()(const RmaTable& table, void* owner, void* object) const {
    return table.dereg_mr_sym(owner, object);
}

NetResult<RmaInstance> RmaClient::init(std::uint64_t comm_id, ncclDebugLogger_t logger) const {
    void* instance = nullptr;
    const ncclResult_t result = table_.init(&instance, comm_id, logger);
    if (result != ncclSuccess) return refused(result, "init");
    if (instance == nullptr) return refused(ncclInternalError, "init");
    return RmaInstance(table_, nullptr, instance);
}

NetResult<RmaListener> RmaClient::listen(void* instance, int device, NetHandle& handle) const {
    handle.fill(std::byte{0});
    void* listener = nullptr;
    const ncclResult_t result = table_.listen(instance, device, handle.data(), &listener);
    if (result != ncclSuccess) return refused(result, "listen");
    if (listener == nullptr) return refused(ncclInternalError, "listen");
    return RmaListener(table_, nullptr, listener);
}

NetResult<RmaGroup> RmaClient::connect(void* instance, const RmaListener& listener,
                                       std::span<NetHandle> handles, int rank) const {
    std::vector<void*> pointers;
    for (NetHandle& handle : handles) pointers.push_back(handle.data());
    void* group = nullptr;
    const ncclResult_t result = table_.connect(
        instance, pointers.data(), static_cast<int>(pointers.size()), rank, listener.get(), &group);
    if (result != ncclSuccess) return refused(result, "connect");
    if (group == nullptr) return refused(ncclInternalError, "connect");
    return RmaGroup(table_, nullptr, group);
}

NetResult<RmaContext> RmaClient::create_context(const RmaGroup& group, int contexts,
                                                int rank_stride, int traffic_class) const {
    ncclRmaConfig_v16_t config{contexts, traffic_class, rank_stride};
    void* context = nullptr;
    const ncclResult_t result = table_.create_context(group.get(), &config, &context);
    if (result != ncclSuccess) return refused(result, "createContext");
    if (context == nullptr) return refused(ncclInternalError, "createContext");
    return RmaContext(table_, group.get(), context);
}

NetResult<RmaWindow> RmaClient::register_memory(const RmaGroup& group, std::span<std::byte> memory,
                                                std::uint64_t flags) const {
    void* handle = nullptr;
    const ncclResult_t result =
        table_.reg_mr_sym(group.get(), memory.data(), memory.size(), NCCL_PTR_HOST, flags, &handle);
    if (result != ncclSuccess) return refused(result, "regMrSym");
    if (handle == nullptr) return refused(ncclInternalError, "regMrSym");
    return RmaWindow(table_, group.get(), handle);
}

NetResult<RmaOperation> RmaClient::put(const RmaContext& context, const RmaPut& put) const {
    void* request = nullptr;
    const ncclResult_t result = table_.iput(context.get(), put, &request);
    return posted(result, context, request, "iput");
}

NetResult<RmaOperation> RmaClient::put_signal(const RmaContext& context, const RmaPut& put,
                                              const RmaSignal& signal) const {
    void* request = nullptr;
    const ncclResult_t result = table_.iput_signal(context.get(), put, signal, &request);
    return posted(result, context, request, "iputSignal");
}

NetResult<RmaOperation> RmaClient::get(const RmaContext& context, const RmaGet& get) const {
    void* request = nullptr;
    const ncclResult_t result = table_.iget(context.get(), get, &request);
    return posted(result, context, request, "iget");
}

NetResult<RmaOperation> RmaClient::flush(const RmaContext& context, int index,
                                         const RmaWindow& window, std::uint32_t rank) const {
    RmaOperation operation{context.owner(), nullptr};
    const ncclResult_t result =
        table_.iflush(context.get(), index, window.get(), rank, &operation.request);
    if (result != ncclSuccess) return refused(result, "iflush");
    return operation;
}

NetResult<bool> RmaClient::test(RmaOperation& operation) const {
    if (operation.request == nullptr) return true;
    int done = 0;
    const ncclResult_t result = table_.test(operation.group, operation.request, &done);
    if (result != ncclSuccess) {
        operation.request = nullptr;
        return refused(result, "test");
    }
    if (done == 0) return false;
    operation.request = nullptr;
    return true;
}

NetResult<void> RmaClient::wait(RmaOperation& operation, const Deadline& deadline) const {
    while (true) {
        const auto done = test(operation);
        if (!done) return tl::unexpected(done.error());
        if (*done) return {};
        if (deadline.passed()) return tl::unexpected(NetFailure{ncclSuccess, true, "test"});
        pause_poll();
    }
}

NetResult<void> RmaClient::wait_all(std::span<RmaOperation> operations,
                                    const Deadline& deadline) const {
    for (RmaOperation& operation : operations)
        if (auto done = wait(operation, deadline); !done) return done;
    return {};
}

}  // namespace duofi::loader
