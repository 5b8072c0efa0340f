// One write or read of the one-sided calls (net contract 3.10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "net_plugin/request.hpp"
#include "net_plugin/comms/data_operation.hpp"

namespace duofi::net {

class OneSided;

enum class RmaKind : std::uint8_t { write, write_inline, read };

[[nodiscard]] constexpr const char* entry_name(RmaKind kind) noexcept {
    return kind == RmaKind::write ? "iwrite" : kind == RmaKind::read ? "iread" : "iwriteInline";
}

/// What the caller asked for.
struct RmaTransfer {
    RmaKind kind = RmaKind::write;
    void* data = nullptr;       ///< here
    std::size_t size = 0;       ///< bytes
    std::uint64_t address = 0;  ///< in the peer's process
    std::uint64_t key = 0;      ///< as the peer's getMrKey gave it
};

struct RmaRequest : Request {
    RmaRequest* next_free = nullptr;
    RmaRequest* next = nullptr;  ///< in the queue of its comm
    OneSided* operations = nullptr;
    RmaTransfer transfer;
    void* descriptor = nullptr;
    bool answered = false;        ///< the peer was asked about the key since the call
    std::vector<std::byte> copy;  ///< bytes of an inline write: the caller's are free again
    DataOperation op;

    [[nodiscard]] TransferFacts facts() const noexcept { return {entry_name(transfer.kind), transfer.size, 0}; }
};

}  // namespace duofi::net
