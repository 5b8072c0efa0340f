#include "common/loader/fork_check.hpp"

#include <fmt/core.h>

#include <charconv>

#include "common/util/messages/loader.hpp"

namespace duofi::loader {
namespace {

struct Kernel {
    int major = 0, minor = 0;
};

Kernel kernel_of(std::string_view release) noexcept {
    Kernel kernel;
    const char* const end = release.data() + release.size();
    const auto major = std::from_chars(release.data(), end, kernel.major);
    if (major.ptr != end && *major.ptr == '.')
        static_cast<void>(std::from_chars(major.ptr + 1, end, kernel.minor));
    return kernel;
}

}  // namespace

bool fork_safe(std::string_view release, bool variable_set) noexcept {
    const Kernel kernel = kernel_of(release);
    return variable_set || kernel.major > 5 || (kernel.major == 5 && kernel.minor >= 14);
}

std::string fork_warning(std::string_view release) {
    const Kernel kernel = kernel_of(release);
    return fmt::format(messages::kForkSafe, kernel.major, kernel.minor);
}

}  // namespace duofi::loader
