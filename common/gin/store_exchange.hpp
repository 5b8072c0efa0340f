// The exchange that the proxies need, over the store of a run (common/bootstrap).
#pragma once

#include "common/bootstrap/store.hpp"
#include "common/gin/exchange.hpp"
#include "common/util/clock.hpp"

namespace duofi::gin {

/// `store` must outlive the exchange. Every gather ends within `limit`. Errors of a gather: those
/// of the store, Errc::invalid_argument when a rank gave a block of another length.
[[nodiscard]] Exchange store_exchange(bootstrap::Store& store, Nanoseconds limit);

}  // namespace duofi::gin
