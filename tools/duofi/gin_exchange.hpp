// The exchange that the proxies need, over the store of a run.
#pragma once

#include "common/bootstrap/store.hpp"
#include "common/gin/exchange.hpp"

namespace duofi::tool {

/// `store` must outlive the exchange. Every gather ends within `limit`.
[[nodiscard]] gin::Exchange store_exchange(bootstrap::Store& store, Nanoseconds limit);

}  // namespace duofi::tool
