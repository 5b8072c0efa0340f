// The state tables of p2p contract 5.3: one action of each kind per call.
#include <atomic>
#include <cstring>

#include "p2p/kernels/counters.hpp"
#include "p2p/kernels/shared_memory_access.hpp"
#include "p2p/transport/net_context.hpp"
#include "p2p/transport/net_edge.hpp"
#include "p2p/transport/net_proxy.hpp"

namespace duofi::p2p {
namespace {

using Memory = HardwareMemory;

std::size_t slot_of(std::uint64_t step) noexcept {
    return step % kSteps;
}

struct Turn {
    explicit Turn(ncclProxyArgs& a)
        : args(a),
          edge(*a.edge),
          now(edge.now),
          n(a.work.slice_steps),
          buffer(edge.buffers[static_cast<std::size_t>(a.work.protocol)]),
          slot_bytes(buffer.bytes / kSteps) {
        args.moved = false;
    }
    [[nodiscard]] char* wire(std::uint64_t step) const noexcept {
        return buffer.wire + slot_of(step) * slot_bytes;
    }
    [[nodiscard]] bool may_post() const noexcept {
        return now.posted < now.end && now.posted + n <= now.done + kSteps;
    }
    ncclResult_t failed(const char* call, ncclResult_t result) const {
        args.failed_call = call;
        return result;
    }
    /// True: the request of that step is complete; its slot is free again.
    [[nodiscard]] ncclResult_t test(std::uint64_t step, bool& complete, int& bytes) const {
        void*& request = edge.requests[slot_of(step)];
        int done = 0;
        const ncclResult_t result = edge.context->api().test(request, &done, &bytes);
        if (result != ncclSuccess || done != 0) request = nullptr;
        complete = result == ncclSuccess && done != 0;
        return result == ncclSuccess ? result : failed("test", result);
    }

    ncclProxyArgs& args;
    NetEdge& edge;
    NetProgress& now;
    std::uint64_t n;
    NetBuffer& buffer;
    std::size_t slot_bytes;
};

/// A message for steps that the kernel has written, if the plugin takes one.
ncclResult_t transmit(Turn& turn) {
    NetProgress& now = turn.now;
    if (now.transmitted >= now.posted) return ncclSuccess;
    if (Memory::load_acquire(&turn.edge.recv_mem->tail) < now.transmitted + turn.n)
        return ncclSuccess;
    const std::atomic_ref<std::int32_t> size(
        turn.edge.recv_mem->sizesFifo[slot_of(now.transmitted)]);
    const std::int32_t bytes = size.load(std::memory_order_acquire);
    if (bytes < 0) return ncclSuccess;
    void*& request = turn.edge.requests[slot_of(now.transmitted)];
    const ncclResult_t result = turn.edge.context->api().send(
        turn.edge.net_comm, turn.wire(now.transmitted), static_cast<std::size_t>(bytes),
        turn.edge.tag, turn.buffer.mhandle, &request);
    if (result != ncclSuccess) return turn.failed("isend", result);
    if (request == nullptr) return ncclSuccess;
    size.store(-1, std::memory_order_release);
    now.transmitted += turn.n;
    turn.args.moved = true;
    return ncclSuccess;
}

ncclResult_t complete_sent(Turn& turn) {
    NetProgress& now = turn.now;
    if (now.done >= now.transmitted) return ncclSuccess;
    bool complete = false;
    int bytes = 0;
    const ncclResult_t result = turn.test(now.done, complete, bytes);
    if (result != ncclSuccess || !complete) return result;
    now.done += turn.n;
    Memory::store_release(&turn.edge.send_mem->head, now.done);
    turn.args.moved = true;
    return ncclSuccess;
}

ncclResult_t post_receive(Turn& turn) {
    NetProgress& now = turn.now;
    if (!turn.may_post()) return ncclSuccess;
    void*& request = turn.edge.requests[slot_of(now.posted)];
    request = nullptr;
    const ncclResult_t result = turn.edge.context->api().receive(
        turn.edge.net_comm, turn.wire(now.posted), turn.n * turn.slot_bytes, turn.edge.tag,
        turn.buffer.mhandle, &request);
    if (result != ncclSuccess) return turn.failed("irecv", result);
    if (request == nullptr) return ncclSuccess;
    now.posted += turn.n;
    turn.args.moved = true;
    return ncclSuccess;
}

/// Old lines of skipped steps and behind a step's own could be taken for new ones after 2^32 steps
/// (C-42). Nobody reads these slots now.
void clean_lines(NetEdge& edge, std::uint64_t end, std::size_t used) {
    const NetBuffer& buffer = edge.buffers[NCCL_PROTO_LL];
    const std::size_t all = buffer.bytes / kSteps / kLlLineBytes;
    while (edge.next_clean < end) {
        const std::size_t keep = edge.next_clean + 1 == end ? used / kLlLineBytes : 0;
        char* slot = buffer.fifo + slot_of(edge.next_clean) * (buffer.bytes / kSteps);
        ll_fill<Memory>(reinterpret_cast<std::uint64_t*>(slot) + 2 * keep, all - keep,
                        edge.ll.flag(edge.next_clean));
        edge.next_clean = edge.ll.next_clean(edge.next_clean + 1);
    }
}

/// Lines go to where the kernel polls in the order that it counts on, whatever the order in which
/// the wire brought their bytes.
void store_lines(const Turn& turn, std::size_t bytes) {
    const char* from = turn.wire(turn.now.transmitted);
    char* to = turn.buffer.fifo + (from - turn.buffer.wire);
    if (turn.args.work.protocol == Protocol::ll) {
        for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, from + at, sizeof(word));
            Memory::store_relaxed(reinterpret_cast<std::uint64_t*>(to + at), word);
        }
        return;
    }
    constexpr std::size_t kFlag = kLl128LineBytes - sizeof(std::uint64_t);
    for (std::size_t at = 0; at + kLl128LineBytes <= bytes; at += kLl128LineBytes) {
        std::uint64_t flag;
        std::memcpy(&flag, from + at + kFlag, sizeof(flag));
        Memory::write_data(reinterpret_cast<std::uint64_t*>(to + at), from + at, kFlag);
        Memory::store_release(reinterpret_cast<std::uint64_t*>(to + at + kFlag), flag);
    }
}

/// Memory of CPUs needs no flush: what has arrived is seen, and may be published.
ncclResult_t take_received(Turn& turn) {
    NetProgress& now = turn.now;
    if (now.received >= now.posted) return ncclSuccess;
    bool complete = false;
    int bytes = 0;
    const ncclResult_t result = turn.test(now.received, complete, bytes);
    if (result != ncclSuccess || !complete) return result;
    const bool lines = turn.args.work.protocol != Protocol::simple;
    const std::size_t arrived = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    if (arrived > turn.n * turn.slot_bytes) return turn.failed("test", ncclInternalError);
    if (lines) store_lines(turn, arrived);
    clean_lines(turn.edge, now.transmitted + turn.n,
                turn.args.work.protocol == Protocol::ll ? arrived : 0);
    now.received += turn.n;
    now.transmitted += turn.n;
    Memory::store_release(&turn.edge.recv_mem->tail, now.transmitted);
    turn.args.moved = true;
    return ncclSuccess;
}

/// A step of which the kernel is done. A kernel that reads LL may be ahead of the tail.
void recycle(Turn& turn) {
    NetProgress& now = turn.now;
    const std::uint64_t head = Memory::load_acquire(&turn.edge.send_mem->head);
    if (head < now.done + turn.n || now.transmitted <= now.done) return;
    now.done += turn.n;
    turn.args.moved = true;
}

ncclResult_t close_turn(Turn& turn) {
    turn.args.finished = turn.now.done == turn.now.end;
    return ncclSuccess;
}

}  // namespace

ncclResult_t net_send_proxy(ncclProxyArgs* args) {
    if (args == nullptr || args->edge == nullptr) return ncclInvalidArgument;
    Turn turn(*args);
    if (turn.may_post()) {
        turn.now.posted += turn.n;
        args->moved = true;
    }
    ncclResult_t result = transmit(turn);
    if (result == ncclSuccess) result = complete_sent(turn);
    return result == ncclSuccess ? close_turn(turn) : result;
}

ncclResult_t net_recv_proxy(ncclProxyArgs* args) {
    if (args == nullptr || args->edge == nullptr) return ncclInvalidArgument;
    Turn turn(*args);
    ncclResult_t result = post_receive(turn);
    if (result == ncclSuccess) result = take_received(turn);
    if (result != ncclSuccess) return result;
    recycle(turn);
    return close_turn(turn);
}

Status net_begin(ncclProxyArgs* args) {
    if (args == nullptr || args->edge == nullptr)
        return fail(Errc::invalid_argument, "allocRequest");
    NetEdge& edge = *args->edge;
    if (edge.busy()) return fail(Errc::internal, "allocRequest");
    const std::uint64_t unit = args->work.chunk_steps;
    const std::uint64_t base = (edge.step + unit - 1) / unit * unit;
    edge.now = {base, base, base, base, base + args->work.steps};
    if (edge.sends())
        Memory::store_release(&edge.send_mem->head, base);
    else
        clean_lines(edge, base, 0);
    args->started = true;
    return {};
}

Status net_end(ncclProxyArgs* args) {
    if (args == nullptr || args->edge == nullptr)
        return fail(Errc::invalid_argument, "freeRequest");
    NetEdge& edge = *args->edge;
    if (edge.busy()) return fail(Errc::internal, "freeRequest");
    edge.step = edge.now.end;
    return {};
}

}  // namespace duofi::p2p
