// The collectives and transfers of p2p/p2p.h.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/api_comm.hpp"

namespace duofi::p2p {
namespace {

Status bad(const char* what) {
    return bad_argument("collective", what, NCCL_COLL | NCCL_P2P);
}

std::optional<DataType> type_of(duofiP2pDataType type) {
    switch (type) {
        case duofiP2pUint8:
            return DataType::uint8;
        case duofiP2pInt32:
            return DataType::int32;
        case duofiP2pInt64:
            return DataType::int64;
        case duofiP2pFloat32:
            return DataType::float32;
        case duofiP2pFloat64:
            return DataType::float64;
    }
    return std::nullopt;
}

std::optional<Reduction> reduction_of(duofiP2pRedOp op) {
    switch (op) {
        case duofiP2pSum:
            return Reduction::sum;
        case duofiP2pMax:
            return Reduction::max;
        case duofiP2pMin:
            return Reduction::min;
    }
    return std::nullopt;
}

/// Bytes of `count` elements, if `times` of them fit an address space.
Result<std::size_t> bytes_of(std::size_t count, duofiP2pDataType type, int times = 1) {
    const std::optional<DataType> known = type_of(type);
    if (!known) return tl::unexpected(bad("unknown data type").error());
    std::size_t bytes = 0;
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, size_of(*known), &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::size_t>(times), &all) ||
        all > static_cast<std::size_t>(PTRDIFF_MAX))
        return tl::unexpected(bad("more elements than memory can hold").error());
    return bytes;
}

int ranks(const duofiP2pComm* comm) {
    return comm->communicator->comm().n_ranks;
}

/// Checks what all ring collectives have in common, and runs the operation.
Status ring(duofiP2pComm* comm, RingOperation operation, duofiP2pDataType type, duofiP2pRedOp op) {
    DUOFI_TRY(bytes_of(operation.count, type, ranks(comm)));
    const std::optional<Reduction> reduction = reduction_of(op);
    if (!reduction) return bad("unknown reduction");
    if (!comm->communicator->comm().known(operation.root)) return bad("no such root");
    const bool reads = operation.kind != RingCollective::broadcast ||
                       operation.root == comm->communicator->comm().rank;
    if (operation.count != 0 &&
        (operation.output == nullptr || (reads && operation.input == nullptr)))
        return bad("a buffer is NULL");
    operation.type = *type_of(type);
    operation.op = *reduction;
    return comm->operations->ring(operation);
}

Status all_reduce(duofiP2pComm* comm, const void* send, void* recv, std::size_t count,
                  duofiP2pDataType type, duofiP2pRedOp op) {
    return ring(comm,
                {.kind = RingCollective::all_reduce, .input = send, .output = recv, .count = count},
                type, op);
}

Status all_gather(duofiP2pComm* comm, const void* send, void* recv, std::size_t count,
                  duofiP2pDataType type) {
    return ring(comm,
                {.kind = RingCollective::all_gather, .input = send, .output = recv, .count = count},
                type, duofiP2pSum);
}

Status reduce_scatter(duofiP2pComm* comm, const void* send, void* recv, std::size_t count,
                      duofiP2pDataType type, duofiP2pRedOp op) {
    return ring(
        comm,
        {.kind = RingCollective::reduce_scatter, .input = send, .output = recv, .count = count},
        type, op);
}

Status broadcast(duofiP2pComm* comm, const void* send, void* recv, std::size_t count,
                 duofiP2pDataType type, int root) {
    return ring(comm,
                {.kind = RingCollective::broadcast,
                 .input = send,
                 .output = recv,
                 .count = count,
                 .root = root},
                type, duofiP2pSum);
}

Status all_to_all(duofiP2pComm* comm, const void* send, void* recv, std::size_t count,
                  duofiP2pDataType type) {
    DUOFI_ASSIGN(const std::size_t bytes, bytes_of(count, type, ranks(comm)));
    if (bytes != 0 && (send == nullptr || recv == nullptr)) return bad("a buffer is NULL");
    return comm->operations->all_to_all(send, recv, bytes);
}

Status transfer(duofiP2pComm* comm, const Outgoing& out, const Incoming& in) {
    const ncclComm& inner = comm->communicator->comm();
    const bool sends = out.peer != -1;
    const bool receives = in.peer != -1;
    if ((sends && !inner.known(out.peer)) || (receives && !inner.known(in.peer)))
        return bad("no such rank");
    if ((out.bytes != 0 && out.data == nullptr) || (in.bytes != 0 && in.data == nullptr))
        return bad("a buffer is NULL");
    return comm->operations->transfer(out, in);
}

/// -1 means "none" inside only.
int named(int peer) {
    return peer == -1 ? -2 : peer;
}

Status send_one(duofiP2pComm* comm, const void* data, std::size_t count, duofiP2pDataType type,
                int peer) {
    DUOFI_ASSIGN(const std::size_t bytes, bytes_of(count, type));
    return transfer(comm, {data, bytes, named(peer)}, {});
}

Status receive_one(duofiP2pComm* comm, void* data, std::size_t count, duofiP2pDataType type,
                   int peer) {
    DUOFI_ASSIGN(const std::size_t bytes, bytes_of(count, type));
    return transfer(comm, {}, {data, bytes, named(peer)});
}

/// Bytes of `count` elements if that is few, else 0.
std::size_t few_bytes(std::size_t count, duofiP2pDataType type) noexcept {
    constexpr std::size_t kFew = std::size_t{1} << 16;
    constexpr std::uint8_t kBytes[] = {0, 1, 4, 0, 8, 0, 0, 4, 8};  // by type
    const auto index = static_cast<unsigned>(type);
    return count < kFew && index < std::size(kBytes) ? count * kBytes[index] : 0;
}

Status end_transfer(duofiP2pComm* comm, KernelResult result) {
    return comm->operations->end(result, "transfer");
}

Status send_and_receive(duofiP2pComm* comm, const void* send, std::size_t send_count, int to,
                        void* recv, std::size_t recv_count, int from, duofiP2pDataType type) {
    DUOFI_ASSIGN(const std::size_t out, bytes_of(send_count, type));
    DUOFI_ASSIGN(const std::size_t in, bytes_of(recv_count, type));
    return transfer(comm, {send, out, named(to)}, {recv, in, named(from)});
}

}  // namespace
}  // namespace duofi::p2p

extern "C" {

using namespace duofi::p2p;

ncclResult_t duofiP2pAllReduce(const void* send, void* recv, size_t count, duofiP2pDataType type,
                               duofiP2pRedOp op, duofiP2pComm* comm) {
    return guarded<&all_reduce>(comm, send, recv, count, type, op);
}

ncclResult_t duofiP2pAllGather(const void* send, void* recv, size_t count, duofiP2pDataType type,
                               duofiP2pComm* comm) {
    return guarded<&all_gather>(comm, send, recv, count, type);
}

ncclResult_t duofiP2pReduceScatter(const void* send, void* recv, size_t count,
                                   duofiP2pDataType type, duofiP2pRedOp op, duofiP2pComm* comm) {
    return guarded<&reduce_scatter>(comm, send, recv, count, type, op);
}

ncclResult_t duofiP2pBroadcast(const void* send, void* recv, size_t count, duofiP2pDataType type,
                               int root, duofiP2pComm* comm) {
    return guarded<&broadcast>(comm, send, recv, count, type, root);
}

ncclResult_t duofiP2pAllToAll(const void* send, void* recv, size_t count, duofiP2pDataType type,
                              duofiP2pComm* comm) {
    return guarded<&all_to_all>(comm, send, recv, count, type);
}

ncclResult_t duofiP2pSend(const void* data, size_t count, duofiP2pDataType type, int peer,
                          duofiP2pComm* comm) {
    if (comm != nullptr && data != nullptr) [[likely]]
        if (const auto result = comm->operations->try_send(data, few_bytes(count, type), peer))
            return *result == KernelResult::ok ? ncclSuccess
                                               : guarded<&end_transfer>(comm, *result);
    return guarded<&send_one>(comm, data, count, type, peer);
}

ncclResult_t duofiP2pRecv(void* data, size_t count, duofiP2pDataType type, int peer,
                          duofiP2pComm* comm) {
    if (comm != nullptr && data != nullptr) [[likely]]
        if (const auto result = comm->operations->try_receive(data, few_bytes(count, type), peer))
            return *result == KernelResult::ok ? ncclSuccess
                                               : guarded<&end_transfer>(comm, *result);
    return guarded<&receive_one>(comm, data, count, type, peer);
}

ncclResult_t duofiP2pSendRecv(const void* send, size_t sendCount, int to, void* recv,
                              size_t recvCount, int from, duofiP2pDataType type,
                              duofiP2pComm* comm) {
    return guarded<&send_and_receive>(comm, send, sendCount, to, recv, recvCount, from, type);
}
}
