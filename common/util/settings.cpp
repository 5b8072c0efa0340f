// The only file that reads or writes the process environment.
#include "common/util/settings.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "common/util/log.hpp"
#include "common/util/messages/settings.hpp"
#include "common/util/parse.hpp"
#include "common/util/scope_exit.hpp"
#include "common/util/settings_table.hpp"

namespace duofi {
namespace {

// A value as it appears in a message: never empty, never endless.
std::string shown(std::string_view value) {
    constexpr std::size_t kLongest = 120;
    if (value.empty()) return "(empty)";
    if (value.size() <= kLongest) return std::string(value);
    return std::string(value.substr(0, kLongest)) + "...";
}

void apply_debug_level(const char* value) {
    constexpr std::array<std::string_view, 5> kNames{"VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    if (value == nullptr) return;
    // The names are in the order of log::Level, which begins with none.
    if (const auto index = parse_choice(value, kNames))
        log::set_threshold(static_cast<log::Level>(*index + 1));
}

// One pass over the environment.
class Loader {
  public:
    explicit Loader(const EnvironmentReader& reader) : reader_(reader) {}

    void read(const SettingDescriptor& row) {
        const char* value = reader_(std::string(row.name).c_str());
        if (value == nullptr) return;
        switch (row.use) {
            case SettingUse::read:
                return read_value(row, value);
            case SettingUse::ignored:
                return log::info(log::env, messages::kSettingIgnored, row.name);
            case SettingUse::removed:
                return log::warn(log::env, messages::kSettingRemoved, row.name, row.replacement);
            case SettingUse::unsupported:
                return log::info(log::env, messages::kSettingUnsupported, row.name);
            case SettingUse::reserved:
                return log::info(log::env, messages::kSettingReserved, row.name);
        }
    }

    // A pair of limits: the one that was not set follows the other.
    void reconcile(const char* low_name, int Settings::*low, const char* high_name,
                   int Settings::*high) {
        if (settings_.*low <= settings_.*high) return;
        const bool low_set = reader_(low_name) != nullptr;
        const bool high_set = reader_(high_name) != nullptr;
        if (low_set && high_set) {
            log::warn(log::env, messages::kSettingsContradict, low_name, settings_.*low,
                      settings_.*high, high_name);
            failed_ = true;
        } else if (low_set) {
            settings_.*high = settings_.*low;
        } else {
            settings_.*low = settings_.*high;
        }
    }

    [[nodiscard]] Result<Settings> finish() && {
        if (failed_) return fail(Errc::internal, "load_settings", EINVAL);
        return std::move(settings_);
    }

  private:
    void read_value(const SettingDescriptor& row, std::string_view value) {
        const bool foreign = setting_owner(row) == SettingOwner::foreign;
        if (!assign_setting(settings_, row, value)) return reject(row, value);
        if (foreign) return;
        if (trimmed(value).empty())
            log::info(log::env, messages::kSettingEmpty, row.name, value_text(settings_, row));
        else if (row.judged_only)
            log::info(log::env, messages::kSettingJudged, row.name, shown(value_text(settings_, row)), row.help);
        else
            log::info(log::env, messages::kSettingApplied, row.name,
                      shown(value_text(settings_, row)));
    }

    void reject(const SettingDescriptor& row, std::string_view value) {
        if (setting_owner(row) == SettingOwner::duofi && !settings_.strict) {
            log::warn(log::env, messages::kSettingInvalidDefault, row.name, shown(value),
                      accepted_text(row), value_text(Settings{}, row));
            return;
        }
        log::warn(log::env, messages::kSettingInvalid, row.name, shown(value), accepted_text(row));
        failed_ = true;
    }

    const EnvironmentReader& reader_;
    Settings settings_;
    bool failed_ = false;
};

void report_unknown(const std::vector<std::string>& present_names) {
    for (const std::string& name : present_names) {
        if (!has_our_prefix(name) || find_setting(name) != nullptr) continue;
        const std::string_view nearest = nearest_setting(name);
        if (nearest.empty())
            log::info(log::env, messages::kSettingUnknownAlone, shown(name));
        else
            log::warn(log::env, messages::kSettingUnknown, shown(name), nearest);
    }
}

// A copy of the environment with `added` behind it, in memory of its own that is never given back.
char** extended_environment(const std::vector<std::string>& added) {
    std::size_t count = 0;
    while (environ != nullptr && environ[count] != nullptr) ++count;
    const std::size_t pointers = (count + added.size() + 1) * sizeof(char*);
    std::size_t bytes = pointers;
    for (const std::string& entry : added) bytes += entry.size() + 1;
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto** block = static_cast<char**>(memory);
    if (count != 0) std::memcpy(block, environ, count * sizeof(char*));
    char* text = static_cast<char*>(memory) + pointers;
    for (const std::string& entry : added) {
        std::memcpy(text, entry.c_str(), entry.size() + 1);
        block[count++] = text;
        text += entry.size() + 1;
    }
    return block;
}

// Lock of the environment held. Returns how many there were.
std::size_t add_missing(std::span<const EnvironmentDefault> wanted) {
    std::vector<std::string> added;
    for (const EnvironmentDefault& entry : wanted)
        if (std::getenv(entry.name) == nullptr) added.push_back(std::string(entry.name) + "=" + entry.value);
    if (added.empty()) return 0;
    char** block = extended_environment(added);
    if (block == nullptr) return 0;
    __atomic_store_n(&environ, block, __ATOMIC_RELEASE);
    return added.size();
}

constinit std::mutex environment_mutex;

}  // namespace

bool Settings::named_by_user() const {
    if (strict) return true;
    for (const std::string_view name : {"duofi", "OFI", "Libfabric", "AWS Libfabric"})
        if (equal_ignoring_case(nccl_net, name)) return true;
    const auto plugins = parse_list(nccl_net_plugin);
    if (!plugins) return false;
    return std::any_of(plugins->begin(), plugins->end(), [](const std::string& plugin) {
        // Only the file name: a folder may be called after the package without naming the plugin.
        const std::size_t slash = plugin.rfind('/');
        return plugin.find("duofi", slash == std::string::npos ? 0 : slash) != std::string::npos;
    });
}

Result<Settings> load_settings(const EnvironmentReader& reader,
                               const std::vector<std::string>& present_names) {
    constexpr std::string_view kStrict = "DUOFI_STRICT";
    apply_debug_level(reader("NCCL_DEBUG"));
    Loader loader(reader);
    loader.read(*find_setting(kStrict));  // decides what a bad value of the others means
    for (const SettingDescriptor& row : setting_table())
        if (row.name != kStrict) loader.read(row);
    loader.reconcile("OFI_NCCL_RDMA_MIN_POSTED_EAGER_BUFFERS", &Settings::eager_min_posted,
                     "OFI_NCCL_RDMA_MAX_POSTED_EAGER_BUFFERS", &Settings::eager_max_posted);
    loader.reconcile("OFI_NCCL_RDMA_MIN_POSTED_CONTROL_BUFFERS", &Settings::control_min_posted,
                     "OFI_NCCL_RDMA_MAX_POSTED_CONTROL_BUFFERS", &Settings::control_max_posted);
    report_unknown(present_names);
    return std::move(loader).finish();
}

Result<Settings> load_settings() {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        names.emplace_back(*entry, std::strcspn(*entry, "="));
    return load_settings([](const char* name) { return std::getenv(name); }, names);
}

std::vector<SettingRow> setting_rows(const Settings& settings, const EnvironmentReader& reader) {
    const Settings defaults;
    std::vector<SettingRow> rows;
    for (const SettingDescriptor& row : setting_table()) {
        if (row.use != SettingUse::read) continue;
        Settings scratch;
        const char* value = reader(std::string(row.name).c_str());
        const bool given = value != nullptr && (row.form == SettingForm::presence || !trimmed(value).empty());
        const bool applied = given && assign_setting(scratch, row, value).has_value();
        rows.push_back({std::string(row.name), value_text(settings, row), value_text(defaults, row),
                        accepted_text(row), meaning_text(row), applied});
    }
    return rows;
}

std::size_t set_environment_defaults(std::span<const EnvironmentDefault> wanted) {
    const std::lock_guard lock(environment_mutex);
    return add_missing(wanted);
}

void with_environment_defaults(std::span<const EnvironmentDefault> wanted, const std::function<void()>& work) {
    const std::lock_guard lock(environment_mutex);
    char** const before = environ;
    (void)add_missing(wanted);
    char** const extended = environ;
    const ScopeExit restore([&] {
        if (environ == extended) __atomic_store_n(&environ, before, __ATOMIC_RELEASE);
    });
    work();
}

bool set_environment_default(const char* name, const char* value) {
    const EnvironmentDefault entry{name, value};
    return set_environment_defaults({&entry, 1}) == 1;
}

std::optional<std::string> environment_value(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
}

}  // namespace duofi
