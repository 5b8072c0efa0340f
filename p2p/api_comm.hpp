// A communicator as users of p2p/p2p.h hold it, and the way in for all calls on one.
#pragma once

#include <memory>
#include <string>

#include "common/abi/boundary.hpp"
#include "p2p/caller_bootstrap.hpp"
#include "p2p/last_error.hpp"
#include "p2p/log_subsystems.hpp"
#include "p2p/operations.hpp"
#include "p2p/p2p.h"
#include "p2p/transport/communicator.hpp"

struct duofiP2pComm {
    std::unique_ptr<duofi::p2p::Bootstrap> bootstrap;  ///< over the caller's functions, if so
    std::unique_ptr<duofi::p2p::Communicator> communicator;
    std::unique_ptr<duofi::p2p::Operations> operations;
    std::string last_error;
};

namespace duofi::p2p {

/// Errc::invalid_argument of a call of p2p.h, said in one line of the given subsystems.
[[nodiscard]] Status bad_argument(const char* function, const char* what, unsigned long subsystems = kSetupLog);

/// Calls Function(comm, arguments...) behind the boundary and keeps the reason of a failure.
template <auto Function, typename... Arguments>
ncclResult_t guarded(duofiP2pComm* comm, Arguments... arguments) {
    if (comm == nullptr) return ncclInvalidArgument;
    using Call = ncclResult_t (*)(duofiP2pComm*, Arguments...);
    constexpr Call call = abi::entry<Function>;
    const ncclResult_t result = call(comm, arguments...);
    if (result != ncclSuccess) [[unlikely]] {
        try {
            comm->last_error = last_warning();
        } catch (...) {
            comm->last_error.clear();
        }
    }
    return result;
}

}  // namespace duofi::p2p
