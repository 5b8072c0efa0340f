// docs/environment.md, made from the table.
#include <fmt/format.h>

#include <iterator>

#include "common/util/settings_table.hpp"

namespace duofi {
namespace {

constexpr std::string_view kOpening =
    "# Environment variables\n"
    "\n"
    "Made from the settings table (`common/util/settings_table.cpp`); a test compares the two. "
    "Variables are\n"
    "read once, when the plugin is initialised. Each variable that is set gives one line in the "
    "log, which\n"
    "says so where it has no effect.\n"
    "\n"
    "Booleans take 0/1, true/false, yes/no, on/off in any case and whole numbers (0 is false). "
    "Whole numbers\n"
    "may carry K, M or G (powers of 1024). Words are compared without regard to case, and blanks "
    "around a\n"
    "value do not count. An empty value means \"not set\" for texts, lists and words, and is a bad "
    "value for\n"
    "numbers, booleans and durations. Empty elements of a list are skipped; a list of nothing else "
    "is bad.\n"
    "\n"
    "Names that begin with `OFI_NCCL_`, `NCCL_OFI_` or `DUOFI_` and are not below give one INFO "
    "line with the\n"
    "nearest name.\n";

constexpr std::string_view kOfiNccl =
    "\n## OFI_NCCL_ variables\n"
    "\n"
    "A bad value is a warning that names variable, value and accepted form, and initialisation "
    "fails. If only\n"
    "one of a pair `MIN`/`MAX` is set and lies beyond the other's default, the other one follows "
    "it; if both\n"
    "are set and contradict each other, that is a bad value.\n";
constexpr std::string_view kDuofi =
    "\n## DUOFI_ variables\n"
    "\n"
    "A bad value is a warning and the default is used; with `DUOFI_STRICT=1` initialisation "
    "fails.\n";
constexpr std::string_view kForeign =
    "\n## Variables of libfabric and of the caller that are looked at\n\n";
constexpr std::string_view kWithoutEffect =
    "\n## Names without effect\n"
    "\n"
    "Setting one of these never fails; one line in the log says that it does nothing.\n\n";

using Output = std::back_insert_iterator<std::string>;

void write_values(std::string& text, SettingOwner owner) {
    const Settings defaults;
    text += "\n| name | default | accepted | meaning |\n|---|---|---|---|\n";
    for (const SettingDescriptor& row : setting_table()) {
        if (setting_owner(row) != owner || row.use != SettingUse::read) continue;
        fmt::format_to(Output(text), "| `{}` | {} | {} | {} |\n", row.name,
                       value_text(defaults, row), accepted_text(row), meaning_text(row));
    }
}

void write_foreign(std::string& text) {
    text += "| name | what for |\n|---|---|\n";
    for (const SettingDescriptor& row : setting_table())
        if (setting_owner(row) == SettingOwner::foreign)
            fmt::format_to(Output(text), "| `{}` | {} |\n", row.name, row.help);
}

std::string reason(const SettingDescriptor& row) {
    switch (row.use) {
        case SettingUse::ignored:
            return "accepted for existing scripts";
        case SettingUse::removed:
            return fmt::format("removed, a warning; set {}", row.replacement);
        case SettingUse::unsupported:
            return "a function that this package does not have";
        case SettingUse::reserved:
            return "not in this version";
        case SettingUse::read:
            break;
    }
    return {};
}

void write_without_effect(std::string& text) {
    text += "| name | about | why |\n|---|---|---|\n";
    for (const SettingDescriptor& row : setting_table())
        if (row.use != SettingUse::read)
            fmt::format_to(Output(text), "| `{}` | {} | {} |\n", row.name, row.help, reason(row));
}

}  // namespace

std::string settings_markdown() {
    std::string text(kOpening);
    text += kOfiNccl;
    write_values(text, SettingOwner::ofi_nccl);
    text += kDuofi;
    write_values(text, SettingOwner::duofi);
    text += kForeign;
    write_foreign(text);
    text += kWithoutEffect;
    write_without_effect(text);
    return text;
}

}  // namespace duofi
