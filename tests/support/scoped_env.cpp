#include "tests/support/scoped_env.hpp"

#include <cstdlib>
#include <utility>

namespace duofi::test {
namespace {

void put(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
    } else {
        ::unsetenv(name.c_str());
    }
}

}  // namespace

std::optional<std::string> env_value(const char* name) {
    // The one reader of tests: expectations are about the process environment itself.
    const char* text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    return std::string(text);
}

ScopedEnv::ScopedEnv(std::string name, std::optional<std::string> value)
    : name_(std::move(name)), before_(env_value(name_.c_str())) {
    put(name_, value);
}

ScopedEnv::~ScopedEnv() {
    put(name_, before_);
}

}  // namespace duofi::test
