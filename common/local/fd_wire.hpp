// Messages between importers and fd services: one packet each way on a sequenced unix socket. Fixed width, native byte
// order (both ends run on one kernel). The descriptor travels beside the answer.
#pragma once

#include <cstdint>

namespace duofi::local {

inline constexpr std::uint32_t kFdMagic = 0x73666f64;  ///< "dofs"

enum class FdCommand : std::uint32_t {
    fetch = 1,  ///< the descriptor of one segment
    hold = 2,   ///< keep this connection until one of us ends
};

struct FdRequest {
    std::uint32_t magic;
    FdCommand command;
    std::uint64_t nonce;
    std::uint32_t generation;
    std::uint32_t reserved;
};
static_assert(sizeof(FdRequest) == 24);

enum class FdStatus : std::uint32_t { ok = 0, not_exported = 1 };

struct FdAnswer {
    std::uint32_t magic;
    FdStatus status;
};
static_assert(sizeof(FdAnswer) == 8);

}  // namespace duofi::local
