// Messages between ranks and relay services: one request and one answer, and the connection stays open as the lease.
// Fixed width, native byte order (both ends run on one kernel).
#pragma once

#include <cstdint>

#include "p2p/abi.h"

namespace duofi::p2p {

inline constexpr std::uint32_t kRelayMagic = 0x72666f64;  ///< "dofr"

struct RelayRequest {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t bytes;
};
static_assert(sizeof(RelayRequest) == 16);

enum class RelayStatus : std::uint32_t { granted = 0, out_of_memory = 1, out_of_leases = 2, refused = 3 };

struct RelayAnswer {
    std::uint32_t magic;
    RelayStatus status;
    std::uint32_t pid;
    std::uint32_t reserved;
    std::uint64_t pointer;
    p2pIpcHandle handle;
};
static_assert(sizeof(RelayAnswer) == 88);

inline constexpr std::uint32_t kRelayVersion = 1;

}  // namespace duofi::p2p
