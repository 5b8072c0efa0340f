// Who a process is, in bytes that a peer can compare: same kernel, same PID namespace, still alive?
// Any thread. Nothing is cached, so a forked child gets its own answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/util/byte_io.hpp"

namespace duofi {

/// A field is 0 when it could not be read (no /proc, or hidden).
struct HostIdentity {
    std::uint64_t boot_hash = 0;      ///< hash of the kernel's boot id: equal on one running kernel
    std::uint64_t pid_namespace = 0;  ///< inode of the PID namespace
    std::uint64_t start_time = 0;     ///< start of the process in clock ticks after boot
    std::uint32_t pid = 0;            ///< as seen in its own PID namespace
    friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

/// Size of an identity on the wire.
inline constexpr std::size_t kHostIdentityBytes = 28;

/// Identity of the calling process. `proc_root` lets tests offer another tree. Never fails.
[[nodiscard]] HostIdentity read_host_identity(const char* proc_root = "/proc") noexcept;

void write(ByteWriter& out, const HostIdentity& identity) noexcept;
/// Check `in.ok()` afterwards.
[[nodiscard]] HostIdentity read_identity(ByteReader& in) noexcept;

/// True when both run on one kernel and see the same process numbers, so that a pid of one means
/// the same process to the other. False when either side does not know.
[[nodiscard]] bool same_kernel_and_pid_namespace(const HostIdentity& a,
                                                 const HostIdentity& b) noexcept;

/// True only with evidence that the process is no more: its pid is free, taken by a younger
/// process, or a zombie (architecture 4.8). `who` must be of our kernel and PID namespace;
/// otherwise, and when nothing can be told, false. Two system calls or so; not for hot paths.
[[nodiscard]] bool process_gone(const HostIdentity& who, const HostIdentity& self,
                                const char* proc_root = "/proc") noexcept;

}  // namespace duofi
