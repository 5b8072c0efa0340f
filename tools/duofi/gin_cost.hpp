// What the GIN proxy itself costs: descriptors through a table whose calls do nothing. One process,
// one thread, no network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/duofi/outcome.hpp"
#include "tools/duofi/output.hpp"

namespace duofi::tool {

/// One row: a kind of descriptor, posted in bursts of a ring's depth and drained by passes.
struct ProxyCost {
    std::string operation;
    int peers = 1;
    int poll_batch = 32;
    std::vector<double> post_ns;   ///< by round: kernel's side, one descriptor
    std::vector<double> proxy_ns;  ///< by round: proxy's side, one descriptor to its completion
};

/// `rounds` rounds of about `seconds` each over all rows, in turn. Error: the proxy failed.
[[nodiscard]] Outcome<std::vector<ProxyCost>> measure_proxy_cost(int rounds, double seconds);

[[nodiscard]] std::string proxy_cost_table(const std::vector<ProxyCost>& rows);
[[nodiscard]] std::vector<Record> proxy_cost_records(const std::vector<ProxyCost>& rows);

}  // namespace duofi::tool
