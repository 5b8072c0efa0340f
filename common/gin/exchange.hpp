// How the ranks of a run pass each other small blocks before they can talk over the plugin. The
// caller of this library supplies it; common/bootstrap's store fits in a few lines.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "common/util/error.hpp"

namespace duofi::gin {

/// One rank's end of the exchange. Used by set-up calls only, one at a time, in the same order on
/// all ranks.
struct Exchange {
    int rank = 0;
    int size = 1;
    /// Every rank gives a block of the same length; `all` (size * mine.size() bytes) gets the
    /// blocks of all ranks by rank. Must end by itself when a rank never comes.
    std::function<Status(std::span<const std::byte> mine, std::span<std::byte> all)> all_gather;
};

/// The exchange of a single rank.
[[nodiscard]] Exchange alone();

}  // namespace duofi::gin
