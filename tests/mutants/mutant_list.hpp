// Every mutant of the wrapper module: the clause it breaks and the test that must notice.
#pragma once

#include <span>

namespace duofi::mutants {

struct Mutant {
    const char* name;     ///< value of DUOFI_MUTANT
    const char* clause;   ///< that it breaks, as the contract pages name it
    const char* breach;   ///< what it does
    const char* program;  ///< that holds the test
    const char* test;     ///< the conformance body, or a full test name for integration programs
    const char* options = "";  ///< further arguments, one word
};

[[nodiscard]] std::span<const Mutant> net_mutants();
[[nodiscard]] std::span<const Mutant> rma_mutants();

}  // namespace duofi::mutants
