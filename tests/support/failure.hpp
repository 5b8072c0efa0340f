// How test code gives up: one exception type that the rank runner turns into a GoogleTest failure.
// Any thread.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "common/util/clock.hpp"

namespace duofi::test {

/// The rest of a body makes no sense any more.
class TestFailure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Throws TestFailure with the formatted text unless `ok`.
template <typename... Args>
void require(bool ok, fmt::format_string<Args...> text, Args&&... args) {
    if (!ok) throw TestFailure(fmt::format(text, std::forward<Args>(args)...));
}

#ifdef DUOFI_TEST_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

#ifdef DUOFI_TEST_EMULATED
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

/// A deadline of tests; sanitizer builds get four times as long, emulated ones ten times.
constexpr Nanoseconds patience(Nanoseconds plain) {
    return kEmulated ? plain * 10 : kSanitized ? plain * 4 : plain;
}

}  // namespace duofi::test
