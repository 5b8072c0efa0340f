// One grouped receive of up to 8 buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "net_plugin/request.hpp"
#include "net_plugin/comms/data_operation.hpp"
#include "net_plugin/comms/held_memory.hpp"

namespace duofi::net {

struct RecvRequest;
class FabricRecvComm;

/// One buffer of a receive, in its comm's list of waiting entries until a message is its own.
struct RecvEntry {
    enum class State : std::uint8_t {
        idle,
        waiting,    ///< for an eager message or a demand; nothing at the provider
        to_post,    ///< the provider had no room for the receive, or it was not tried yet
        announced,  ///< ready for its data, the sender knows or is being told
    };
    RecvRequest* request = nullptr;
    RecvEntry* previous = nullptr;
    RecvEntry* next = nullptr;
    void* data = nullptr;
    std::size_t size = 0;
    void* descriptor = nullptr;
    int tag = 0;
    std::uint32_t index = 0;     ///< in the tag's order
    std::uint32_t sequence = 0;  ///< of the data tag
    State state = State::idle;
    bool wanted = false;         ///< the sender is ready and has asked for the announcement
    ReceiveOperation op;         ///< tagged
    HeldMemory held;             ///< written, with the two below
    std::uint32_t parts = 0;     ///< writes that have come
    std::size_t bytes = 0;       ///< in them

    [[nodiscard]] TransferFacts facts() const noexcept { return {"irecv", size, tag}; }
};

struct RecvRequest : Request {
    RecvRequest* next_free = nullptr;
    FabricRecvComm* comm = nullptr;
    int missing = 0;         ///< entries without their message
    int at_provider = 0;     ///< operations that the provider still holds; the request is done after them
    std::array<RecvEntry, kMaxSizes> entries;

    [[nodiscard]] TransferFacts facts() const noexcept { return entries[0].facts(); }
};

}  // namespace duofi::net
