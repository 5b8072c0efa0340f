// NCCL_PROTO as users write it. Pure function, any thread.
#pragma once

#include <string_view>

#include "common/util/error.hpp"
#include "p2p/kernels/protocol.hpp"

namespace duofi::p2p {

/// "LL,LL128", "^LL", "Simple": names in any case, a leading ^ means all but these. Empty text:
/// all. Errors: Errc::invalid_argument for an unknown name or when none is left.
[[nodiscard]] Result<ProtocolSet> parse_protocols(std::string_view text);

}  // namespace duofi::p2p
