// Does the provider do what protocol RDMA lives on (net contract 4.6, 5.5)? Part of the self-test of init.
#pragma once

#include "common/util/error.hpp"

namespace duofi::net {

class FabricEndpoint;

/// Writes into memory of this process through the endpoint, and waits, at most 5 s, for the word beside it and the right size.
/// Errors: unsupported when the word or the bytes do not come or the size is wrong, and those of registration; logged.
[[nodiscard]] Status probe_writes(FabricEndpoint& endpoint);

}  // namespace duofi::net
