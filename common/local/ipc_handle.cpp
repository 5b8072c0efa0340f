#include "common/local/ipc_handle.hpp"

#include <cerrno>

#include "common/local/crc32c.hpp"
#include "common/util/byte_io.hpp"
#include "common/util/messages/local.hpp"

namespace duofi::local {

namespace {

constexpr std::size_t kChecked = kHandleBytes - sizeof(std::uint32_t);
constexpr std::uint32_t kLargestPid = 0x7fffffff;

tl::unexpected<Error> malformed(const char* reason) {
    return fail(Errc::invalid_argument, reason, EINVAL);
}

}  // namespace

HandleBytes encode(const IpcHandle& handle) noexcept {
    HandleBytes bytes{};
    ByteWriter out(bytes);
    out.u32(kHandleMagic);
    out.u8(kHandleVersion);
    out.u8(static_cast<std::uint8_t>(handle.kind));
    out.u16(handle.flags);
    out.u32(handle.pid);
    out.i32(handle.fd);
    out.u64(handle.start_time);
    out.u32(handle.pid_namespace);
    out.u32(handle.generation);
    out.u64(handle.bytes);
    out.u64(handle.offset);
    out.u64(handle.nonce);
    out.u32(handle.inode);
    out.u32(crc32c(out.written()));
    return bytes;
}

Result<IpcHandle> decode(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() != kHandleBytes) return malformed(messages::kHandleSize);
    ByteReader in(bytes);
    IpcHandle handle;
    const std::uint32_t magic = in.u32();
    const std::uint8_t version = in.u8();
    const std::uint8_t kind = in.u8();
    handle.kind = static_cast<HandleKind>(kind);
    handle.flags = in.u16();
    handle.pid = in.u32();
    handle.fd = in.i32();
    handle.start_time = in.u64();
    handle.pid_namespace = in.u32();
    handle.generation = in.u32();
    handle.bytes = in.u64();
    handle.offset = in.u64();
    handle.nonce = in.u64();
    handle.inode = in.u32();
    if (in.u32() != crc32c(bytes.first(kChecked))) return malformed(messages::kHandleChecksum);
    if (magic != kHandleMagic) return malformed(messages::kHandleMagic);
    if (version != kHandleVersion) return malformed(messages::kHandleVersion);
    if (kind < 1 || kind > 3) return malformed(messages::kHandleKind);
    if (handle.kind == HandleKind::raw_pointer) return handle;
    // Nobody makes read-only or unsealed handles yet.
    if ((handle.flags & ~kHandleHugePages) != kHandleSealed) return malformed(messages::kHandleKind);
    if (handle.bytes == 0 || handle.bytes % kSegmentUnit != 0 || handle.bytes > kLargestSegment ||
        handle.offset >= handle.bytes || handle.pid == 0 || handle.pid > kLargestPid || handle.fd < 0)
        return malformed(messages::kHandleBounds);
    return handle;
}

}  // namespace duofi::local
