// Lines about environment variables.
#pragma once

namespace duofi::messages {

/// The words "set to invalid value" are the ones users know (net contract 4.1, I1).
inline constexpr char kSettingInvalid[] =
    "NET/OFI {} set to invalid value {} (accepted: {}); initialization fails";
inline constexpr char kSettingInvalidDefault[] =
    "NET/OFI {} set to invalid value {} (accepted: {}); using the default, {}";
inline constexpr char kSettingsContradict[] =
    "NET/OFI {} set to invalid value {} (accepted: at most {}, the value of {}); "
    "initialization fails";

inline constexpr char kSettingApplied[] = "NET/OFI {} set by environment to {}";
inline constexpr char kSettingEmpty[] =
    "NET/OFI {} is set to an empty value, which counts as not set ({})";
inline constexpr char kSettingIgnored[] =
    "NET/OFI {} is accepted for existing scripts, but has no effect";
inline constexpr char kSettingJudged[] = "NET/OFI {} set to {} has no effect: {}";
inline constexpr char kSettingRemoved[] =
    "NET/OFI {} has been removed and has no effect; set {} instead";
inline constexpr char kSettingUnsupported[] =
    "NET/OFI {} belongs to a function that this package does not have; it has no effect";
inline constexpr char kSettingReserved[] = "NET/OFI {} has no effect in this version";

inline constexpr char kSettingUnknown[] =
    "NET/OFI {} is not a variable of this package; did you mean {}?";
inline constexpr char kSettingUnknownAlone[] =
    "NET/OFI {} is not a variable of this package; docs/environment.md lists all of them";

}  // namespace duofi::messages
