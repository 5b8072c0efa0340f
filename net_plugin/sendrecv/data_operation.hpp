// A large transfer that was posted to the provider, and the object that is told.
#pragma once

#include "common/ofi/operation.hpp"

namespace duofi::net {

struct DataOperation : ofi::Operation {
    void* owner = nullptr;
    bool posted = false;  ///< the provider has it: its memory and the caller's buffer must stay
};

}  // namespace duofi::net
