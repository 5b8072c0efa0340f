// Which clause this process breaks, and the module behind the wrapper. Any thread.
#pragma once

#include <string_view>

namespace duofi::mutants {

/// True when variable DUOFI_MUTANT names this mutant. Without it every call passes unchanged.
[[nodiscard]] bool breaks(std::string_view mutant);

/// A table of the wrapped module, the file of variable DUOFI_MUTANT_OF; opened at the first call
/// and kept, as the callers' tables live as long as the library. Ends the process when absent.
[[nodiscard]] const void* real_symbol(const char* name);

}  // namespace duofi::mutants
