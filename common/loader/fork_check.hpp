// The kernel check that libnccom makes before it opens its plugin (net contract 1.6, step 1). It
// belongs to the caller; the plugin never does it. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace duofi::loader {

/// False when the kernel is older than 5.14 and FI_EFA_FORK_SAFE is not set. `release` as uname
/// gives it. Text that holds no version counts as old, as it does for the caller.
[[nodiscard]] bool fork_safe(std::string_view release, bool variable_set) noexcept;

/// The caller's warning for such a kernel.
[[nodiscard]] std::string fork_warning(std::string_view release);

}  // namespace duofi::loader
