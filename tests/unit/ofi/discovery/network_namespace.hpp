// A network of its own for the calling process: only loopback, down, as a new container has it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace duofi::test {

/// What processes in a new network namespace reported.
struct NamespaceRun {
    std::string not_permitted;         ///< why it could not be made; skip the test
    std::string failure;               ///< what went wrong inside
    std::vector<std::string> reports;  ///< one per process, in order
};

/// Makes a namespace in a child, runs `ip <setup>` for each line, then runs `body` in `processes`
/// processes there, one after another. Nothing outlives the call.
[[nodiscard]] NamespaceRun run_in_network(const std::vector<std::string>& setup,
                                          const std::function<std::string()>& body,
                                          int processes = 1);

}  // namespace duofi::test
