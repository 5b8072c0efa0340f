#include "tests/support/plugin_module.hpp"

#include <dlfcn.h>

#include <utility>

#include "tests/support/failure.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {

std::string plugin_path() {
    return env_value("DUOFI_PLUGIN_PATH").value_or(DUOFI_PLUGIN_PATH);
}

PluginModule::PluginModule(const std::string& path)
    : library_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    require(library_ != nullptr, "dlopen: {}", library_ == nullptr ? ::dlerror() : "");
    table_ = static_cast<const ncclNet_v6_t*>(::dlsym(library_, "ncclNetPlugin_v6"));
    if (table_ == nullptr) {
        close();
        require(false, "{} has no ncclNetPlugin_v6", path);
    }
}

PluginModule::PluginModule(PluginModule&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)),
      table_(std::exchange(other.table_, nullptr)) {}

PluginModule::~PluginModule() {
    close();
}

void PluginModule::close() {
    table_ = nullptr;
    if (library_ != nullptr) ::dlclose(std::exchange(library_, nullptr));
}

}  // namespace duofi::test
