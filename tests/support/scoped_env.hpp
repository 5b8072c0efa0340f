// Sets or removes environment variables for the life of an object.
// Not thread-safe: only before threads start, as setenv itself.
#pragma once

#include <optional>
#include <string>

namespace duofi::test {

class ScopedEnv {
  public:
    /// `value` nullopt removes the variable.
    ScopedEnv(std::string name, std::optional<std::string> value);
    ~ScopedEnv();
    ScopedEnv(const ScopedEnv&) = delete;
    ScopedEnv& operator=(const ScopedEnv&) = delete;

  private:
    std::string name_;
    std::optional<std::string> before_;
};

/// The value in force, nullopt when not set.
[[nodiscard]] std::optional<std::string> env_value(const char* name);

}  // namespace duofi::test
