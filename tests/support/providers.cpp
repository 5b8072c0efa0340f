#include "tests/support/providers.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <string_view>

#include "tests/support/failure.hpp"

namespace duofi::test {
namespace {

constexpr std::uint32_t kFirstNativeTcp = (1U << 16U) | 18U;  // fi_version() packs major and minor

std::uint32_t library_version() {
    void* library = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    require(library != nullptr, "no libfabric.so.1");
    using Version = std::uint32_t (*)();
    const auto version = reinterpret_cast<Version>(::dlsym(library, "fi_version"));
    require(version != nullptr, "libfabric.so.1 has no fi_version");
    const std::uint32_t value = version();
    ::dlclose(library);
    return value;
}

}  // namespace

std::string provider_name(const std::string& word) {
    if (word == "native") return library_version() < kFirstNativeTcp ? "net" : "tcp";
    if (word == "rxm") return "tcp;ofi_rxm";
    // A personality of the simulated fabric is registered under its last part, which the list must admit too.
    constexpr std::string_view kSimulated = "duofisim;";
    if (word.starts_with(kSimulated)) return word + ',' + word.substr(kSimulated.size());
    return word;
}

}  // namespace duofi::test
