// Result of a step of a command: a value, or the sentence that the user is shown.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "common/util/error.hpp"

namespace duofi::tool {

template <typename T>
using Outcome = tl::expected<T, std::string>;

[[nodiscard]] inline tl::unexpected<std::string> failed(std::string text) {
    return tl::unexpected<std::string>(std::move(text));
}

/// "fi_tsend: remote, error 104 (Connection reset by peer)". The commands store a plugin's result
/// code as a negative provider_errno: "isend: remote, result 6 of the plugin".
[[nodiscard]] std::string describe(const Error& error);

}  // namespace duofi::tool
