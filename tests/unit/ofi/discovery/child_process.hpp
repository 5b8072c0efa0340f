// Runs a function in a forked child and brings its text back: for what a process can do once only,
// such as libfabric reading FI_PROVIDER, or entering a namespace.
#pragma once

#include <functional>
#include <string>

#include "common/util/clock.hpp"

namespace duofi::test {

struct ChildResult {
    bool ok = false;   ///< the function returned; false: it threw, died or passed the deadline
    std::string text;  ///< what it returned, or what went wrong
};

/// Forks, so call it before the parent starts threads. A child that passes the deadline is killed.
[[nodiscard]] ChildResult run_in_child(const std::function<std::string()>& body,
                                       Nanoseconds limit = 30 * kSecond);

}  // namespace duofi::test
