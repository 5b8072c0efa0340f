// Between the C struct of p2p/p2p.h and Bootstrap, both ways.
#pragma once

#include <memory>

#include "p2p/p2p.h"
#include "p2p/transport/bootstrap.hpp"

namespace duofi::p2p {

/// A Bootstrap over the functions of a caller, which must outlive it. NULL when the struct lacks
/// something.
[[nodiscard]] std::unique_ptr<Bootstrap> caller_bootstrap(const duofiP2pBootstrap& functions);

/// The C struct of a Bootstrap of ours; `context` of the result is `bootstrap` itself.
[[nodiscard]] duofiP2pBootstrap as_functions(Bootstrap& bootstrap);

/// The Bootstrap behind a struct of as_functions, NULL for those of callers.
[[nodiscard]] Bootstrap* ready_made(const duofiP2pBootstrap& functions) noexcept;

}  // namespace duofi::p2p
