// Lines about drivers of devices, and the reasons that errors of common/memory carry.
#pragma once

namespace duofi::messages {

inline constexpr char kDriverAbsent[] = "MEM {} is not available: {} (tried: {})";
inline constexpr char kDriverSymbol[] = "MEM {} is not available: {} has no {}";
inline constexpr char kDriverOld[] = "MEM {} is not available: {} has version {} (accepted: {} and later)";
inline constexpr char kDriverStart[] = "MEM {} is not available: {} of {} returned {} ({})";
inline constexpr char kDriverReady[] = "MEM {}: {} version {}, {} devices";

inline constexpr char kNoSuchDevice[] = "no such device";
inline constexpr char kNotAnAllocation[] = "not the start of an allocation";
inline constexpr char kNotDeviceMemory[] = "not device memory, or beyond its end";
inline constexpr char kNotOffered[] = "the driver does not offer this";

}  // namespace duofi::messages
