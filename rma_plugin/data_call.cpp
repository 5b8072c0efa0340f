#include "rma_plugin/data_call.hpp"

#include <cstring>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/rma.hpp"
#include "rma_plugin/group.hpp"
#include "rma_plugin/instance.hpp"
#include "rma_plugin/signal/apply.hpp"

namespace duofi::rma {

namespace {

constexpr std::uint32_t kInc = 1;  // signal operations of the ABI (rma contract 2.1)
constexpr std::uint32_t kAdd = 2;

bool refuse_range(const DataCall& call, const char* what, std::uint64_t offset, std::size_t size,
                  std::uint64_t length, std::uint32_t rank) noexcept {
    log::warn(log::net, messages::kRmaOutOfRange, call.operation, what, offset, size, length, rank);
    return false;
}

// Our own rank: at once, since nothing of ours is queued before it (rma contract 5.7). Put first, then add (G-9). No
// lock: it may be long.
ncclResult_t do_locally(const DataCall& call, bool get, void** out) {
    Mutex& mutex = call.group().endpoint().mutex();
    std::unique_lock lock(mutex);
    Request& request = call.context->acquire_request();
    lock.unlock();
    if (call.size != 0) {
        std::byte* to = get ? call.local : call.own_remote;
        const std::byte* from = get ? call.own_remote : call.local;
        std::memmove(to, from, call.size);  // ranges may overlap or be the same (P-3)
    }
    if (call.signal.wanted) apply_signal(call.own_word, call.signal.addend);
    lock.lock();
    call.context->finish(request);
    *out = &request;
    return ncclSuccess;
}

}  // namespace

bool begin_call(DataCall& call, const char* operation, void* context, int stream, std::uint32_t rank) noexcept {
    call.operation = operation;
    call.context = find_object<Context>(context);
    call.rank = rank;
    if (in_forked_child()) [[unlikely]] {
        log::warn(log::net, messages::kRmaForkedChild, operation);
        return false;
    }
    if (call.context == nullptr) [[unlikely]] {
        log::warn(log::net, messages::kRmaBadObject, operation, "rmaCtx");
        return false;
    }
    if (!call.context->has_stream(stream)) [[unlikely]] {
        log::warn(log::net, messages::kRmaBadStream, operation, stream);
        return false;
    }
    if (rank >= call.group().size()) [[unlikely]] {
        log::warn(log::net, messages::kRmaBadRank, operation, rank, call.group().size() - 1);
        return false;
    }
    return true;
}

Window* window_of(const DataCall& call, void* mhandle, const char* argument) noexcept {
    Window* window = find_object<Window>(mhandle);
    if (window != nullptr && &window->group() == &call.group()) [[likely]]
        return window;
    log::warn(log::net, messages::kRmaForeignWindow, call.operation, argument);
    return nullptr;
}

bool add_data(DataCall& call, std::uint64_t local_off, void* local_handle, std::size_t size,
              std::uint64_t remote_off, void* remote_handle) noexcept {
    call.size = size;
    if (size == 0) return true;
    const Window* local = window_of(call, local_handle, "the local mhandle");
    if (local == nullptr) return false;
    const Window* remote = window_of(call, remote_handle, "the remote mhandle");
    if (remote == nullptr) return false;
    if (!local->covers_locally(local_off, size))
        return refuse_range(call, "local", local_off, size, local->length(), call.group().rank());
    const WindowPart& part = remote->part(call.rank);
    if (!remote->covers(call.rank, remote_off, size))
        return refuse_range(call, "remote", remote_off, size, part.length, call.rank);
    call.local = local->data() + local_off;
    call.descriptor = local->descriptor();
    call.remote_address = part.address + remote_off;
    call.remote_key = part.key;
    call.remote = remote;
    call.local_window = local->id();
    if (call.rank == call.group().rank()) call.own_remote = remote->data() + remote_off;
    return true;
}

bool add_signal(DataCall& call, std::uint64_t offset, void* mhandle, std::uint64_t value,
                std::uint32_t op) noexcept {
    if (op != kInc && op != kAdd) {
        log::warn(log::net, messages::kRmaBadSignalOp, op);
        return false;
    }
    const Window* window = window_of(call, mhandle, "signalMhandle");
    if (window == nullptr) return false;
    const WindowPart& part = window->part(call.rank);
    if (offset % sizeof(std::uint64_t) != 0 || part.misalignment != 0 ||
        !window->covers(call.rank, offset, sizeof(std::uint64_t))) {
        log::warn(log::net, messages::kRmaBadSignal, offset, call.rank, part.length);
        return false;
    }
    call.signal = {true, window->id(), offset, op == kInc ? 1 : value};
    if (call.rank == call.group().rank()) call.own_word = window->data() + offset;
    return true;
}

ncclResult_t finish_at_once(const DataCall& call, void** out) {
    const std::scoped_lock lock(call.group().endpoint().mutex());
    Request& request = call.context->acquire_request();
    call.context->finish(request);
    *out = &request;
    return ncclSuccess;
}

ncclResult_t start(const DataCall& call, bool get, void** out) {
    Group& group = call.group();
    if (call.rank == group.rank()) return do_locally(call, get, out);
    const std::scoped_lock lock(group.endpoint().mutex());
    Lane& lane = *group.lane(call.rank);
    if (lane.gone()) {
        log::warn(log::net, messages::kRmaRankGone, call.operation, call.rank);
        return ncclRemoteError;
    }
    Request& request = call.context->acquire_request();
    *out = &request;
    // The other side has deregistered it meanwhile: data that comes late is dropped, a get has nothing to give.
    const bool late = call.remote != nullptr && call.remote->withdrawn(call.rank);
    if (late && get) {
        call.context->fail(request, ncclRemoteError);
        return ncclSuccess;
    }
    if ((call.size == 0 || late) && !call.signal.wanted) {
        call.context->finish(request);
        return ncclSuccess;
    }
    request.get = get;
    request.local = call.local;
    request.size = late ? 0 : call.size;
    request.remote_window = call.remote != nullptr ? call.remote->id() : 0;
    request.local_window = call.local_window;
    request.descriptor = call.descriptor;
    request.remote_address = call.remote_address;
    request.remote_key = call.remote_key;
    request.signal = call.signal;
    lane.post(request);
    return ncclSuccess;
}

}  // namespace duofi::rma
