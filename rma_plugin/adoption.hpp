// Does the caller want our RMA tables, or did it only find them beside the net plugin (L-3, L-4; architecture 2)? Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/util/settings.hpp"

namespace duofi::rma {

/// Does an entry of NCCL_RMA_PLUGIN lead to the library in `library_file`: by its path, its name, or its short name?
[[nodiscard]] bool names_library(std::string_view plugin_list, std::string_view library_file) noexcept;

/// "" = offer the tables; otherwise why not.
[[nodiscard]] std::string why_declined(const Settings& settings, std::string_view library_file);

}  // namespace duofi::rma
