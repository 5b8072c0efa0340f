// A large transfer that was posted to the provider, and the object that is told.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/ofi/operation.hpp"

namespace duofi::net {

class ReceiveBudget;

/// What the caller asked for, in words for the log.
struct TransferFacts {
    const char* operation;  ///< name of the table's entry
    std::size_t size;       ///< bytes
    int tag;
};

struct DataOperation : ofi::Operation {
    void* owner = nullptr;
    std::uint8_t rail = 0;
    bool posted = false;  ///< the provider has it: its memory and the caller's buffer must stay
};

struct ReceiveOperation : DataOperation {
    ReceiveBudget* budget = nullptr;  ///< of the endpoint, which outlives what it has posted
};

}  // namespace duofi::net
