// What travels between two endpoints through shared memory. One kernel, so native byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/util/clock.hpp"

namespace duofi::sim {

enum class Kind : std::uint8_t {
    message,       ///< a part of an untagged message
    tagged,
    write,         ///< a part of a one-sided write
    read,          ///< asks for memory
    atomic,        ///< operands of an atomic operation
    read_data,     ///< a part of the answer to a read
    atomic_reply,  ///< what was there before
    ack,           ///< an operation has arrived, or failed
};

enum HeadFlag : std::uint8_t {
    kCarriesData = 1,  ///< remote CQ data
    kWhenPlaced = 2,   ///< acknowledged only when it is in the receiver's memory (FI_DELIVERY_COMPLETE)
    kFenced = 4,       ///< after everything before it
    kFetches = 8,      ///< an atomic operation that gives the old value
};

struct Head {
    std::uint64_t op = 0;      ///< of the sender, who waits for an answer; parts of one have the same
    std::uint64_t total = 0;   ///< bytes of all parts
    std::uint64_t offset = 0;  ///< of this part
    std::uint64_t tag = 0, data = 0;
    std::uint64_t address = 0, key = 0;  ///< target memory of the first part
    Nanoseconds due = 0;       ///< not delivered before; 0 = at once
    std::int32_t error = 0, provider_error = 0;
    Kind kind = Kind::ack;
    std::uint8_t flags = 0, atomic_op = 0, datatype = 0;
};

struct Packet {
    Head head;
    std::vector<std::byte> payload;
};

/// Largest part, bytes.
inline constexpr std::size_t kPart = std::size_t{32} << 10;

}  // namespace duofi::sim
