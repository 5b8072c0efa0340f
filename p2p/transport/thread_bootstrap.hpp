// The exchange between ranks that are threads of one process.
#pragma once

#include <memory>
#include <vector>

#include "p2p/transport/bootstrap.hpp"

namespace duofi::p2p {

/// One end per rank. The ends may be used by different threads at the same time; each keeps what
/// they share alive.
[[nodiscard]] std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int size);

}  // namespace duofi::p2p
