#include "common/util/library_file.hpp"

#include <dlfcn.h>

namespace duofi {

std::string library_file(const void* address) {
    Dl_info info{};
    if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    return info.dli_fname;
}

void keep_library(const void* address) noexcept {
    Dl_info info{};
    if (::dladdr(address, &info) != 0 && info.dli_fname != nullptr)
        (void)::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace duofi
