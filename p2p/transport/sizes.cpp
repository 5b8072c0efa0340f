#include "p2p/transport/sizes.hpp"

#include <algorithm>

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"

namespace duofi::p2p {
namespace {

constexpr std::size_t kHeader = offsetof(ncclRecvMem, buff);

std::size_t rounded(std::size_t bytes) noexcept {
    return round_to_ipc_unit(static_cast<std::uint32_t>(bytes));
}

}  // namespace

Status check_buffer_sizes(const BufferSizes& sizes) {
    std::size_t sum = 0;
    bool good = true;
    for (const std::size_t size : sizes.bytes) {
        good = good && size != 0 && size % kBufferUnit == 0 && size <= kMaxBufferSum;
        sum += std::min(size, kMaxBufferSum);
    }
    // The header is rounded up with the buffers and must not carry the sum over the limit either.
    if (good && sum <= kMaxBufferSum - sizeof(ncclRecvMem)) return {};
    log::warn(NCCL_INIT | NCCL_P2P, messages::kP2pBadBuffers, sizes.bytes[NCCL_PROTO_LL],
              sizes.bytes[NCCL_PROTO_LL128], sizes.bytes[NCCL_PROTO_SIMPLE],
              kMaxBufferSum - sizeof(ncclRecvMem));
    return fail(Errc::invalid_argument, "buffer sizes");
}

std::size_t send_mem_bytes(const BufferSizes& sizes, bool read) noexcept {
    return rounded(sizeof(ncclSendMem) + (read ? sizes.bytes[NCCL_PROTO_SIMPLE] : 0));
}

std::size_t recv_mem_bytes(const BufferSizes& sizes, bool read) noexcept {
    return rounded(kHeader + sizes.bytes[NCCL_PROTO_LL] + sizes.bytes[NCCL_PROTO_LL128] +
                   (read ? 0 : sizes.bytes[NCCL_PROTO_SIMPLE]));
}

std::uint32_t digest_of(const BufferSizes& sizes) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::size_t size : sizes.bytes)
        for (int shift = 0; shift < 32; shift += 8)
            hash = (hash ^ ((size >> shift) & 0xffU)) * 0x100000001b3U;
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace duofi::p2p
