#include "tests/mutants/active.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace duofi::mutants {
namespace {

std::string variable(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::string() : std::string(text);
}

void* real_module() {
    static void* const library = [] {
        const std::string path = variable("DUOFI_MUTANT_OF");
        void* opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (opened == nullptr) {
            std::fprintf(stderr, "DUOFI_MUTANT_OF: %s\n", ::dlerror());
            std::abort();
        }
        return opened;
    }();
    return library;
}

}  // namespace

bool breaks(std::string_view mutant) {
    static const std::string chosen = variable("DUOFI_MUTANT");
    return chosen == mutant;
}

const void* real_symbol(const char* name) {
    const void* found = ::dlsym(real_module(), name);
    if (found == nullptr) {
        std::fprintf(stderr, "the wrapped module has no %s\n", name);
        std::abort();
    }
    return found;
}

}  // namespace duofi::mutants
