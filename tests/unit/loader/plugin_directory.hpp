// A folder on the loader's search path that a test fills with links to the mock modules, and the
// lines that the imitated caller printed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/abi/host_types.h"
#include "common/loader/plugin_host.hpp"
#include "common/util/settings.hpp"

namespace duofi::loader::test {

inline constexpr char kFolderVariable[] = "DUOFI_TEST_PLUGIN_FOLDER";

/// Set by main, which started this process again with LD_LIBRARY_PATH naming the folder.
inline std::filesystem::path search_folder() {
    return environment_value(kFolderVariable).value_or("");
}

/// Links made here vanish with the object.
class PluginDirectory {
  public:
    PluginDirectory() = default;
    ~PluginDirectory() {
        std::error_code ignored;
        for (const auto& link : links_) std::filesystem::remove(link, ignored);
    }
    PluginDirectory(const PluginDirectory&) = delete;
    PluginDirectory& operator=(const PluginDirectory&) = delete;

    /// Makes `name` in the search folder a link to a mock module; returns the link's path.
    std::string link(const std::string& name, const std::string& module) {
        const auto path = search_folder() / name;
        std::filesystem::create_symlink(module_path(module), path);
        links_.push_back(path);
        return path.string();
    }
    static std::string module_path(const std::string& module) {
        return std::filesystem::path(DUOFI_MOCK_DIR) / (module + ".so");
    }

  private:
    std::vector<std::filesystem::path> links_;
};

/// Collects the caller's lines.
class Lines {
  public:
    HostLog log() {
        return [this](int level, unsigned long subsystems, const std::string& text) {
            levels.push_back(level);
            flags.push_back(subsystems);
            texts.push_back(text);
        };
    }
    [[nodiscard]] bool has(const std::string& text) const {
        for (const std::string& line : texts)
            if (line == text) return true;
        return false;
    }
    std::vector<int> levels;
    std::vector<unsigned long> flags;
    std::vector<std::string> texts;
};

using Texts = std::vector<std::string>;

inline NetRequest net_request(Host host, int release, std::optional<std::string> plugin,
                              std::string net = {}) {
    NetRequest request;
    request.host = host;
    request.release = release;
    request.plugin = std::move(plugin);
    request.net = std::move(net);
    return request;
}

/// Counters of a loaded mock; it must be loaded.
struct MockState {
    int inits, device_calls, finalizes, fini_calls, open_comms, open_registrations;
    ncclDebugLogger_t logger;
};
inline const MockState& mock_state(const Plugin& plugin) {
    return *static_cast<const MockState*>(plugin.symbol("mock_state"));
}

/// True while a library with this file is mapped.
[[nodiscard]] bool is_mapped(const std::string& module);

}  // namespace duofi::loader::test
