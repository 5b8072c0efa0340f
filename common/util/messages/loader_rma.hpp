// Lines that callers print about the life of RMA plugins, word for word (rma contract 1.2, 1.3).
#pragma once

namespace duofi::messages {

inline constexpr char kRmaAssigned[] = "RMA/Plugin: Assigned plugin {} to comm";
inline constexpr char kRmaDisablingOthers[] = "RMA/Plugin: Disabling external plugins: {}";
inline constexpr char kRmaUnloading[] = "RMA/Plugin: Unloading plugin {}";
inline constexpr char kRma13NeedsProxy[] =
    "RMA v13 ({}) requires GIN PROXY type, got netDeviceType {}";

}  // namespace duofi::messages
