// The page behind the usable bytes of a segment (p2p contract 2.3): lets an importer see that it got what the handle
// promised. Little-endian, native atomics. Written by the owner before it seals the segment; afterwards only the two
// words at the end change, through std::atomic_ref.
#pragma once

#include <cstddef>
#include <cstdint>

namespace duofi::local {

inline constexpr std::size_t kControlBytes = 4096;  ///< one huge page in segments of explicit huge pages
inline constexpr std::uint64_t kControlMagic = 0x746e6d6765736f64;  ///< "dosegmnt"
inline constexpr std::uint32_t kControlVersion = 1;

struct ControlPage {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t generation;
    std::uint64_t nonce;
    std::uint64_t bytes;
    std::uint64_t start_time;  ///< of the owner
    std::uint32_t pid;         ///< of the owner, in its own PID namespace
    std::uint32_t reserved;
    alignas(128) std::uint32_t dead;  ///< 1: the owner has freed it
    std::uint32_t importers;          ///< other processes that map it; input, never trusted
};
static_assert(offsetof(ControlPage, nonce) == 16 && offsetof(ControlPage, pid) == 40 &&
              offsetof(ControlPage, dead) == 128 && offsetof(ControlPage, importers) == 132);
static_assert(sizeof(ControlPage) <= kControlBytes);

}  // namespace duofi::local
