// Lines of the boundary between the callers' tables and the code behind them.
#pragma once

namespace duofi::messages {

inline constexpr char kEntryOutOfMemory[] = "NET/OFI {}: out of memory";
inline constexpr char kEntrySystemException[] = "NET/OFI {}: {} (error {})";
inline constexpr char kEntryException[] = "NET/OFI {}: unexpected failure: {}";
inline constexpr char kEntryUnknownException[] = "NET/OFI {}: unexpected failure of unknown kind";
/// Users know these words (net contract 3.9).
inline constexpr char kAbortingDueToFailure[] =
    "NET/OFI Aborting due to call failure with return {}";

}  // namespace duofi::messages
