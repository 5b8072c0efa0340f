// Groups of processes on the simulated fabric: its behaviour is read when it is loaded, so each set of knobs needs its own.
#pragma once

#include <map>
#include <string>

#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// Options for processes on a personality ("ideal", "efa", ...) with knobs, named as in the environment without prefix
/// ("LATENCY").
[[nodiscard]] GroupOptions on_personality(const std::string& personality, int ranks,
                                          const std::map<std::string, std::string>& knobs = {});

/// The long tier was asked for on the command line (--full).
[[nodiscard]] bool full_tier();

}  // namespace duofi::test
