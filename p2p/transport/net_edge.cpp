#include "p2p/transport/net_edge.hpp"

#include <algorithm>

#include "common/local/pages.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/p2p_net.hpp"
#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/net_context.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kHeader = P2P_MEM_ALIGN;
static_assert(offsetof(ncclRecvMem, buff) == kHeader && offsetof(ncclSendMem, buff) == kHeader);

}  // namespace

NetMemory::~NetMemory() {
    if (memory_ == nullptr) return;
    if (of_runtime_)
        static_cast<void>(runtime::host_free(memory_));
    else
        local::unmap(memory_, bytes_);
}

Status NetMemory::make(std::size_t bytes) {
    bytes_ = bytes;
    of_runtime_ = !runtime::has(kHostAccessible);
    if (of_runtime_) {
        DUOFI_ASSIGN(void* made, runtime::host_allocate(bytes));
        memory_ = static_cast<char*>(made);
    } else {
        memory_ = static_cast<char*>(local::map_aligned(-1, bytes, local::page_size()));
    }
    return memory_ != nullptr ? Status() : Status(fail(Errc::no_memory, "setup"));
}

NetEdge::~NetEdge() {
    if (context == nullptr) return;
    const NetApi& api = context->api();
    for (const NetBuffer& buffer : buffers)
        if (buffer.mhandle != nullptr) static_cast<void>(api.deregister(net_comm, buffer.mhandle));
    if (net_comm != nullptr) sends() ? api.close_send(net_comm) : api.close_receive(net_comm);
    if (listener != nullptr) api.close_listen(listener);
}

Status NetEdge::make_memory() {
    const auto& bytes = comm->buff_sizes.bytes;
    const std::size_t lines = bytes[NCCL_PROTO_LL] + bytes[NCCL_PROTO_LL128];
    const std::size_t all = 2 * kHeader + lines + bytes[NCCL_PROTO_SIMPLE] + (sends() ? 0 : lines);
    if (const Status made = memory.make(all); !made) {
        log::warn(NCCL_INIT | NCCL_P2P, messages::kNetNoMemory, comm->rank, all);
        return made;
    }
    send_mem = reinterpret_cast<ncclSendMem*>(memory.get());
    recv_mem = reinterpret_cast<ncclRecvMem*>(memory.get() + kHeader);
    char* next = memory.get() + 2 * kHeader;
    for (std::size_t p = 0; p < buffers.size(); ++p) {
        buffers[p].bytes = bytes[p];
        buffers[p].fifo = buffers[p].wire = next;
        next += bytes[p];
    }
    if (!sends())
        for (const int p : {NCCL_PROTO_LL, NCCL_PROTO_LL128}) {
            NetBuffer& buffer = buffers[static_cast<std::size_t>(p)];
            buffer.wire = next;
            next += buffer.bytes;
        }
    std::fill_n(recv_mem->sizesFifo, NCCL_STEPS, -1);
    return {};
}

void NetEdge::wire(ncclConnInfo& conn) const noexcept {
    for (std::size_t p = 0; p < buffers.size(); ++p) conn.buffs[p] = buffers[p].fifo;
    conn.tail = &recv_mem->tail;
    conn.head = &send_mem->head;
    conn.direct = 0;
    conn.shared = 0;
    conn.ptrExchange = nullptr;
    conn.sizesFifo = sends() ? recv_mem->sizesFifo : nullptr;
    conn.ptrsFifo = nullptr;
    conn.step = 0;
    conn.llLastCleaning = 0;
}

Status NetEdge::know_buffer(Protocol protocol) {
    NetBuffer& buffer = buffers[static_cast<std::size_t>(protocol)];
    if (buffer.mhandle != nullptr) return {};
    const ncclResult_t result =
        context->api().register_memory(net_comm, buffer.wire, buffer.bytes, &buffer.mhandle);
    if (result == ncclSuccess) return {};
    log::warn(NCCL_INIT | NCCL_NET, messages::kNetCallFailed, comm->rank, "regMr", peer, channel,
              static_cast<int>(result));
    return fail(Errc::system, "regMr");
}

bool NetEdge::busy() const noexcept {
    return std::ranges::any_of(requests, [](const void* request) { return request != nullptr; });
}

}  // namespace duofi::p2p
