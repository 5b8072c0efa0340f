// The 64 bytes that name a piece of a segment to another process of the node (p2p contract 2.4). Little-endian,
// position-independent, without secrets. Values only; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/util/error.hpp"

namespace duofi::local {

inline constexpr std::size_t kHandleBytes = 64;
inline constexpr std::size_t kSegmentUnit = std::size_t{2} << 20;  ///< sizes are multiples of it
inline constexpr std::size_t kLargestSegment = std::size_t{1} << 40;
inline constexpr std::uint32_t kHandleMagic = 0x49666f64;          ///< "dofI"
inline constexpr std::uint8_t kHandleVersion = 1;

using HandleBytes = std::array<std::byte, kHandleBytes>;

/// How an importer gets at the memory.
enum class HandleKind : std::uint8_t {
    memfd = 1,          ///< /proc/<pid>/fd/<fd>
    memfd_service = 2,  ///< the same, and the exporter's fd service where that way is closed
    raw_pointer = 3,    ///< `offset` is the pointer itself; one address space for all
};

/// Bits of `flags`.
enum HandleFlag : std::uint16_t { kHandleHugePages = 1, kHandleSealed = 2, kHandleReadOnly = 4 };

struct IpcHandle {
    HandleKind kind = HandleKind::memfd;
    std::uint16_t flags = 0;
    std::uint32_t pid = 0;            ///< exporter, in its own PID namespace
    std::int32_t fd = -1;             ///< descriptor in the exporter
    std::uint64_t start_time = 0;     ///< of the exporter, clock ticks after boot
    std::uint32_t pid_namespace = 0;  ///< low half of the inode
    std::uint32_t generation = 0;     ///< number of the segment in its process, never used again
    std::uint64_t bytes = 0;          ///< usable size of the segment, a multiple of kSegmentUnit
    std::uint64_t offset = 0;         ///< of the exported address inside it
    std::uint64_t nonce = 0;          ///< random, also in the segment
    std::uint32_t inode = 0;          ///< low half of the memfd's inode
    friend bool operator==(const IpcHandle&, const IpcHandle&) = default;
};

[[nodiscard]] HandleBytes encode(const IpcHandle& handle) noexcept;

/// Step 1 of opening: checks everything that can be judged without looking at the system. Errors:
/// invalid_argument, `place` says what is wrong.
[[nodiscard]] Result<IpcHandle> decode(std::span<const std::byte> bytes) noexcept;

}  // namespace duofi::local
