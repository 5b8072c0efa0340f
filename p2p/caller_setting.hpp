// Variables of NCCL that p2p reads too: they come as text, since their owner parses them for itself.
#pragma once

#include <cstdint>
#include <string>

#include "common/util/error.hpp"

namespace duofi::p2p {

/// The number that the caller's user gave, told at INFO; `otherwise` when `text` is empty or, after one warning, when it
/// could not be parsed. `parsed` is what a function of common/util/parse says of `text`. Any thread.
[[nodiscard]] std::int64_t caller_setting(const char* name, const std::string& text,
                                          const Result<std::int64_t>& parsed, std::int64_t otherwise);

}  // namespace duofi::p2p
