// One device of a provider of this machine, by the provider's name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "common/ofi/discovery.hpp"

namespace duofi::test {

inline constexpr const char* kTestProviders[] = {"net", "tcp;ofi_rxm", "shm", "sockets"};

/// Name of a parameter in test names.
inline std::string provider_word(const testing::TestParamInfo<const char*>& info) {
    std::string word = info.param;
    std::replace_if(word.begin(), word.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
    return word;
}

class ProviderDevice {
  public:
    /// false: this libfabric has no such provider (net is part of tcp from 1.18).
    bool find(const std::string& provider) {
        settings_.ofi_provider = provider;
        auto list = ofi::discover(settings_, ofi::tagged_requirements(settings_));
        if (!list || list->devices.empty()) return false;
        device_ = list->devices.front();
        return true;
    }
    [[nodiscard]] Settings& settings() noexcept { return settings_; }
    [[nodiscard]] const ofi::DeviceInfo& device() const noexcept { return device_; }

  private:
    Settings settings_;
    ofi::DeviceInfo device_;
};

}  // namespace duofi::test
