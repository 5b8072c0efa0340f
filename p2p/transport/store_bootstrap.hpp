// The exchange over the store of a run (common/bootstrap): ranks in any processes.
#pragma once

#include <memory>
#include <string>

#include "common/bootstrap/store.hpp"
#include "p2p/transport/bootstrap.hpp"

namespace duofi::p2p {

/// `store` must outlive the result. `prefix` keeps the messages of several communicators over one
/// store apart: the same on all ranks, different for each communicator.
[[nodiscard]] std::unique_ptr<Bootstrap> store_bootstrap(bootstrap::Store& store,
                                                         std::string prefix);

}  // namespace duofi::p2p
