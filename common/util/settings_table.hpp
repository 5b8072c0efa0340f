// The one table of environment variables, and what is made from it. Constant data; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "common/util/settings.hpp"

namespace duofi {

/// Whose variable it is, which decides what happens to a bad value.
enum class SettingOwner {
    ofi_nccl,  ///< OFI_NCCL_*: a bad value fails init with -22 (net contract 7, I1)
    duofi,     ///< DUOFI_*: a bad value is a warning and the default, unless DUOFI_STRICT
    foreign,   ///< belongs to libfabric or to the caller: taken as it is, never judged
};

/// What the package does with a variable.
enum class SettingUse {
    read,         ///< has an effect
    ignored,      ///< accepted for the sake of existing scripts, without effect; one INFO line
    removed,      ///< has been replaced; one WARN line with the new name
    unsupported,  ///< known elsewhere, not offered by this package; one INFO line
    reserved,     ///< fixed name of a part that does not read it yet; one INFO line
};

/// How the text is read when the type of the member alone does not tell.
enum class SettingForm {
    plain,       ///< by type: text, boolean, integer with K/M/G, decimal number
    choice,      ///< one of `choices`, any case
    duration,    ///< seconds, or a number with a unit
    interfaces,  ///< interface list
    provider,    ///< libfabric provider name
    presence,    ///< true when the variable exists, whatever its value
};

/// Where the value goes. std::monostate: nowhere (SettingUse other than read).
using SettingBinding =
    std::variant<std::monostate, bool Settings::*, int Settings::*, std::size_t Settings::*,
                 double Settings::*, std::string Settings::*, std::optional<bool> Settings::*,
                 std::optional<std::string> Settings::*>;

/// One variable. The default is what a fresh Settings holds, so it stands in one place only.
struct SettingDescriptor {
    std::string_view name;
    SettingBinding binding{};
    std::string_view help{};
    bool judged_only = false;  ///< a bad value counts as one, a good one has no effect; `help` says why
    SettingForm form = SettingForm::plain;
    double low = 0;  ///< limits of a number, both included
    double high = 0;
    std::span<const std::string_view> choices{};  ///< of SettingForm::choice
    std::string_view unset_text = "unset";        ///< what an empty text or optional means
    SettingUse use = SettingUse::read;
    std::string_view replacement{};  ///< of SettingUse::removed
};

/// All variables in the order in which they are shown.
[[nodiscard]] std::span<const SettingDescriptor> setting_table() noexcept;

[[nodiscard]] SettingOwner setting_owner(const SettingDescriptor& descriptor) noexcept;

/// The accepted values in words ("1 to 8", "SENDRECV or RDMA", ...).
[[nodiscard]] std::string accepted_text(const SettingDescriptor& descriptor);

/// What the variable does, in words; "no effect: ..." where it does nothing.
[[nodiscard]] std::string meaning_text(const SettingDescriptor& descriptor);

/// The value that `settings` holds, as text.
[[nodiscard]] std::string value_text(const Settings& settings, const SettingDescriptor& descriptor);

/// Reads `text` into the member of `settings`. An empty text leaves text members unset and is an
/// error for all others. On error `settings` is as before. Errors: those of parse.hpp.
[[nodiscard]] Status assign_setting(Settings& settings, const SettingDescriptor& descriptor,
                                    std::string_view text);

/// The descriptor of a name, or nullptr.
[[nodiscard]] const SettingDescriptor* find_setting(std::string_view name) noexcept;

/// True for names with one of our prefixes: OFI_NCCL_, DUOFI_, and the frequent slip NCCL_OFI_.
[[nodiscard]] bool has_our_prefix(std::string_view name) noexcept;

/// The known name that is most like an unknown one, or "" when none comes near (report A3).
[[nodiscard]] std::string_view nearest_setting(std::string_view name);

/// docs/environment.md, complete.
[[nodiscard]] std::string settings_markdown();

}  // namespace duofi
