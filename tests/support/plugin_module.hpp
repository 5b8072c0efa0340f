// One dlopen of the module under test, as the callers do it (RTLD_NOW | RTLD_LOCAL).
// One thread at a time.
#pragma once

#include <string>

#include "common/abi/net_v6.h"

namespace duofi::test {

/// The file of the module: variable DUOFI_PLUGIN_PATH, else where the build puts it.
[[nodiscard]] std::string plugin_path();

class PluginModule {
  public:
    /// Throws TestFailure with the loader's text.
    explicit PluginModule(const std::string& path = plugin_path());
    PluginModule(PluginModule&& other) noexcept;
    PluginModule& operator=(PluginModule&&) = delete;
    ~PluginModule();

    [[nodiscard]] const ncclNet_v6_t& net_v6() const { return *table_; }
    /// dlclose; the table is gone afterwards.
    void close();

  private:
    void* library_ = nullptr;
    const ncclNet_v6_t* table_ = nullptr;
};

}  // namespace duofi::test
