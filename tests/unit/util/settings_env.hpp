// A made-up environment for load_settings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/util/settings.hpp"

namespace duofi::test {

class SettingsEnv {
  public:
    SettingsEnv(std::initializer_list<std::pair<const std::string, std::string>> values)
        : values_(values) {}

    EnvironmentReader reader() const {
        return [this](const char* name) {
            const auto found = values_.find(name);
            return found == values_.end() ? nullptr : found->second.c_str();
        };
    }
    Result<Settings> load() const {
        std::vector<std::string> names;
        for (const auto& [name, value] : values_) names.push_back(name);
        return load_settings(reader(), names);
    }

  private:
    std::map<std::string, std::string> values_;
};

}  // namespace duofi::test
