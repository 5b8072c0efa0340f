// Which file a piece of loaded code came from. Any thread.
#pragma once

#include <string>

namespace duofi {

/// Path of the shared object or program that holds `address` (dladdr); empty if unknown.
[[nodiscard]] std::string library_file(const void* address);

/// The library that holds `address` is not unloaded any more.
void keep_library(const void* address) noexcept;

}  // namespace duofi
