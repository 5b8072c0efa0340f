// How ranks that are threads of one process pass each other blocks.
#pragma once

#include <vector>

#include "common/gin/exchange.hpp"

namespace duofi::gin::test {

/// Exchanges for `size` threads of this process; each waits 20 s at most.
[[nodiscard]] std::vector<Exchange> thread_exchanges(int size);

}  // namespace duofi::gin::test
