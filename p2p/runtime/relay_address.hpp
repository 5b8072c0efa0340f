// What ranks exchange about each other's relay services, and what an allocation there yields (p2p contract 2.8).
// Plain data, fixed size, fit for an all-gather among processes of one node.
#pragma once

#include <cstdint>

#include "p2p/abi.h"

namespace duofi::p2p {

/// Where a rank's relay service listens: an address of a unix socket. All zero: there is none.
struct RelayAddress {
    std::uint8_t length = 0;
    char name[107] = {};  ///< abstract when it begins with a zero byte
};
static_assert(sizeof(RelayAddress) == 108);

/// Memory on the relay's rank. Given back with RuntimeTable::remote_free.
struct RelayLease {
    std::int32_t id = -1;
    std::uint32_t pid = 0;    ///< of the relay, as that process sees itself
    void* pointer = nullptr;  ///< in the relay's address space
    p2pIpcHandle handle{};
};

}  // namespace duofi::p2p
