#include "net_plugin/neuron/calls.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "common/abi/error_map.hpp"
#include "common/ofi/service_thread.hpp"
#include "common/util/clock.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net.hpp"
#include "common/util/messages/neuron.hpp"
#include "net_plugin/abi/group.hpp"
#include "net_plugin/comm_registry.hpp"
#include "net_plugin/entry.hpp"
#include "net_plugin/memory_handle.hpp"
#include "net_plugin/neuron/one_sided.hpp"
#include "net_plugin/plugin.hpp"

namespace duofi::net::neuron {

namespace {

ncclResult_t null_argument(const char* operation, const char* argument) noexcept {
    log::warn(log::net, messages::kNullArgument, operation, argument);
    return ncclInternalError;
}

ncclResult_t transfer(void* pointer, CommKind kind, const RmaTransfer& wanted, void* mhandle, void** request) {
    const char* operation = entry_name(wanted.kind);
    if (request == nullptr) return null_argument(operation, "request");
    *request = nullptr;
    if (!initialized(operation)) return ncclInternalError;
    auto* comm = static_cast<DataComm*>(find_comm(pointer, kind, operation));
    if (comm == nullptr) return ncclInternalError;
    OneSided* operations = comm->one_sided();
    if (operations == nullptr) {
        log::warn(log::net, messages::kNoOneSided, operation, provider_name());
        return ncclSystemError;
    }
    const auto started = operations->start(wanted, mhandle);
    if (!started) return abi::result_of(started.error());
    *request = *started;
    return ncclSuccess;
}

/// Between two looks of a call that waits: often at first, then so that others get the processor.
class Pause {
  public:
    void take() noexcept {
        if (++looks_ < kBusyLooks)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(kPauseMicroseconds));
    }

  private:
    static constexpr int kBusyLooks = 200;
    static constexpr int kPauseMicroseconds = 50;
    int looks_ = 0;
};

bool negative(const char* operation, int size, void** request) noexcept {
    if (size >= 0) return false;
    log::warn(log::net, messages::kBadSize, operation, size, "0..INT_MAX");
    if (request != nullptr) *request = nullptr;
    return true;
}

}  // namespace

ncclResult_t get_mr_key(void* mhandle, std::uint64_t* key) {
    if (key == nullptr) return null_argument("getMrKey", "mr_key");
    *key = 0;
    if (!initialized("getMrKey")) return ncclInternalError;
    const auto exposed = expose_memory(mhandle);
    if (exposed) {
        *key = *exposed;
        ofi::service_wake();  // it looks after this side now, however quiet it is
        return ncclSuccess;
    }
    if (exposed.error().code == Errc::unsupported)
        log::warn(log::net, messages::kNoOneSided, "getMrKey", provider_name());
    else if (exposed.error().code == Errc::no_data)
        log::warn(log::net, messages::kNoKey, provider_name());
    return abi::result_of(exposed.error());
}

ncclResult_t iwrite(void* comm, void* source, std::size_t size, void* mhandle, std::uint64_t address,
                    std::uint64_t key, void** request) {
    return transfer(comm, CommKind::send, {RmaKind::write, source, size, address, key}, mhandle, request);
}

ncclResult_t iwrite_inline(void* comm, void* source, std::size_t size, std::uint64_t address, std::uint64_t key,
                           void** request) {
    return transfer(comm, CommKind::send, {RmaKind::write_inline, source, size, address, key}, nullptr, request);
}

ncclResult_t iread(void* comm, void* destination, std::size_t size, void* mhandle, std::uint64_t address,
                   std::uint64_t key, void** request) {
    return transfer(comm, CommKind::recv, {RmaKind::read, destination, size, address, key}, mhandle, request);
}

ncclResult_t isend(void* comm, void* data, int size, int tag, void* mhandle, void** request) {
    if (negative("isend", size, request)) return ncclInvalidArgument;
    return net::isend(comm, data, static_cast<std::size_t>(size), tag, mhandle, request);
}

ncclResult_t irecv(void* comm, int count, void** data, int* sizes, int* tags, void** mhandles, void** request) {
    if (request != nullptr) *request = nullptr;
    Group group;
    if (!group.fill("irecv", count, data, sizes, tags, mhandles)) return ncclInvalidArgument;
    return net::irecv(comm, count, group.buffers, request);
}

ncclResult_t iflush(void* comm, int count, void** data, int* sizes, void** mhandles, void** request) {
    if (request != nullptr) *request = nullptr;
    Group group;
    int tags[kMaxGroupReceives] = {};
    if (!group.fill("iflush", count, data, sizes, tags, mhandles)) return ncclInvalidArgument;
    return net::iflush(comm, count, group.buffers, request);
}

ncclResult_t listen_v4(int device, void* handle, void** listen_comm) {
    HandleBytes whole{};
    const ncclResult_t result = net::listen(device, handle != nullptr ? &whole : nullptr, listen_comm);
    if (result == ncclSuccess) std::memcpy(handle, &whole, NCCL_NET_HANDLE_MAXSIZE_V4);
    return result;
}

ncclResult_t connect_v4(int device, void* handle, void** send_comm) {
    HandleBytes whole{};  // the part behind the caller's 64 bytes is where the attempt is kept
    if (handle != nullptr) std::memcpy(&whole, handle, NCCL_NET_HANDLE_MAXSIZE_V4);
    Pause pause;
    for (;;) {  // the attempt has a deadline of its own
        const ncclResult_t result =
            net::connect_early(device, handle != nullptr ? &whole : nullptr, send_comm);
        if (result != ncclSuccess || *send_comm != nullptr) return result;
        pause.take();
    }
}

ncclResult_t accept_v4(void* listen_comm, void** recv_comm) {
    const Deadline deadline(connect_timeout());
    Pause pause;
    for (;;) {
        const ncclResult_t result = net::accept(listen_comm, recv_comm);
        if (result != ncclSuccess || *recv_comm != nullptr) return result;
        if (deadline.passed()) break;
        pause.take();
    }
    log::warn(log::net, messages::kAcceptTimeout, static_cast<double>(connect_timeout()) / kSecond);
    return ncclRemoteError;
}

}  // namespace duofi::net::neuron
