// One setting: text -> member of Settings, and back.
#include <fmt/format.h>

#include <cerrno>
#include <type_traits>

#include "common/util/parse.hpp"
#include "common/util/settings_table.hpp"

namespace duofi {
namespace {

constexpr std::string_view kBooleanWords = "0/1, true/false, yes/no, on/off";

template <typename M>
struct MemberType;
template <typename T>
struct MemberType<T Settings::*> {
    using Type = T;
};

template <typename Binding>
constexpr bool is_unbound = std::is_same_v<Binding, std::monostate>;

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != 0) text += i + 1 == names.size() ? " or " : ", ";
        text += names[i];
    }
    return text;
}

std::string number_text(double value) {
    return fmt::format("{}", value);
}

// Reads values of one member type each.
struct Assign {
    const SettingDescriptor& row;
    std::string_view text;

    Status to(bool& member) const {
        if (row.form == SettingForm::presence) {
            member = true;
            return {};
        }
        DUOFI_ASSIGN(member, parse_bool(text));
        return {};
    }
    Status to(std::optional<bool>& member) const {
        if (equal_ignoring_case(text, "auto") || text == "-1") {
            member.reset();
            return {};
        }
        DUOFI_ASSIGN(member, parse_bool(text));
        return {};
    }
    Status to(int& member) const { return integer(member); }
    Status to(std::size_t& member) const { return integer(member); }
    Status to(double& member) const {
        if (row.form == SettingForm::duration) {
            DUOFI_ASSIGN(member, parse_duration(text, row.low, row.high));
        } else {
            DUOFI_ASSIGN(member, parse_decimal(text, row.low, row.high));
        }
        return {};
    }
    Status to(std::string& member) const {
        if (text.empty()) {
            member.clear();
            return {};
        }
        std::string value(text);
        if (row.form == SettingForm::choice) {
            DUOFI_ASSIGN(const std::size_t index, parse_choice(text, row.choices));
            value = row.choices[index];
        } else if (row.form == SettingForm::provider) {
            DUOFI_TRY(check_provider_name(text));
        }
        member = std::move(value);
        return {};
    }
    Status to(std::optional<std::string>& member) const {
        if (text.empty()) {
            member.reset();
            return {};
        }
        DUOFI_TRY(check_interface_list(text));
        member = std::string(text);
        return {};
    }

  private:
    template <typename I>
    Status integer(I& member) const {
        DUOFI_ASSIGN(const std::int64_t value, parse_size(text, static_cast<std::int64_t>(row.low),
                                                          static_cast<std::int64_t>(row.high)));
        member = static_cast<I>(value);
        return {};
    }
};

// Shows values of one member type each.
struct Show {
    const SettingDescriptor& row;

    std::string from(bool value) const {
        if (row.form == SettingForm::presence) return value ? "set" : std::string(row.unset_text);
        return value ? "1" : "0";
    }
    std::string from(int value) const { return std::to_string(value); }
    std::string from(std::size_t value) const { return std::to_string(value); }
    std::string from(double value) const { return number_text(value); }
    std::string from(const std::string& value) const {
        return value.empty() ? std::string(row.unset_text) : value;
    }
    std::string from(const std::optional<bool>& value) const {
        return value ? from(*value) : std::string(row.unset_text);
    }
    std::string from(const std::optional<std::string>& value) const {
        return value ? *value : std::string(row.unset_text);
    }
};

template <typename T>
std::string accepted_by_type(const SettingDescriptor& row) {
    if constexpr (std::is_same_v<T, bool>) {
        return std::string(kBooleanWords);
    } else if constexpr (std::is_same_v<T, std::optional<bool>>) {
        return fmt::format("{}, or auto (-1)", kBooleanWords);
    } else if constexpr (std::is_same_v<T, double>) {
        return fmt::format("number from {} to {}", number_text(row.low), number_text(row.high));
    } else if constexpr (std::is_integral_v<T>) {
        const bool wide = row.high > 1024;  // where a suffix is of any use
        return fmt::format("integer from {} to {}{}", static_cast<std::int64_t>(row.low),
                           static_cast<std::int64_t>(row.high), wide ? ", K, M, G allowed" : "");
    } else {
        return "any text";
    }
}

}  // namespace

std::string accepted_text(const SettingDescriptor& row) {
    if (setting_owner(row) == SettingOwner::foreign) return "see its owner";
    switch (row.form) {
        case SettingForm::choice:
            return joined(row.choices);
        case SettingForm::interfaces:
            return "comma list of interface names or their beginnings; ^ in front changes nothing, "
                   "= in front: whole names";
        case SettingForm::provider:
            return "name of a libfabric provider";
        case SettingForm::presence:
            return "anything";
        case SettingForm::duration:
            return fmt::format("seconds, or a number with us, ms, s, m or h; {} to {} s",
                               number_text(row.low), number_text(row.high));
        case SettingForm::plain:
            break;
    }
    return std::visit(
        [&](auto binding) -> std::string {
            if constexpr (is_unbound<decltype(binding)>) {
                return "anything";
            } else {
                return accepted_by_type<typename MemberType<decltype(binding)>::Type>(row);
            }
        },
        row.binding);
}

std::string meaning_text(const SettingDescriptor& row) {
    return row.judged_only ? fmt::format("no effect: {}", row.help) : std::string(row.help);
}

std::string value_text(const Settings& settings, const SettingDescriptor& row) {
    return std::visit(
        [&](auto binding) -> std::string {
            if constexpr (is_unbound<decltype(binding)>) {
                return {};
            } else {
                return Show{row}.from(settings.*binding);
            }
        },
        row.binding);
}

Status assign_setting(Settings& settings, const SettingDescriptor& row, std::string_view text) {
    const Assign value{row, trimmed(text)};
    return std::visit(
        [&](auto binding) -> Status {
            if constexpr (is_unbound<decltype(binding)>) {
                return fail(Errc::invalid_argument, "assign_setting", EINVAL);
            } else {
                return value.to(settings.*binding);
            }
        },
        row.binding);
}

}  // namespace duofi
