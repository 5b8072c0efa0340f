// Which caller is imitated: program and release. Pure values; any thread.
#pragma once

#include <span>

namespace duofi::loader {

/// A caller of plugins (net contract section 1).
enum class Host { nccl, rccl, libnccom };

/// A release as one number in the callers' own counting: 2.27.5 is 22705 (release_number(2, 27,
/// 5)).
[[nodiscard]] constexpr int release_number(int major, int minor, int patch) noexcept {
    return major * 10000 + minor * 100 + patch;
}

/// The newest caller known here: NCCL 2.30.7, and RCCL's development head, which behaves like it.
inline constexpr int kNewestRelease = release_number(2, 30, 7);

/// How NCCL_NET_PLUGIN is read: the rows of net contract table 1.2.
enum class Generation {
    suffix_only,  ///< up to 2.20: libnccl-net-<value>.so and nothing else
    one_name,     ///< 2.21 to 2.27.2: the value as given, then libnccl-net-<value>.so
    strict_list,  ///< 2.27.3 and 2.27.4: a list; lib*.so as given, everything else prefixed
    list,         ///< from 2.27.5 and RCCL: a list; as given, then prefixed for short names
};

[[nodiscard]] constexpr Generation generation_of(int release) noexcept {
    if (release < release_number(2, 21, 0)) return Generation::suffix_only;
    if (release < release_number(2, 27, 3)) return Generation::one_name;
    if (release < release_number(2, 27, 5)) return Generation::strict_list;
    return Generation::list;
}

/// Versions of `ncclNetPlugin_v<N>` in the order in which the caller looks them up (net
/// contract 1.4).
[[nodiscard]] std::span<const int> net_probe_order(Host host, int release) noexcept;

/// The same for `ncclRmaPlugin_v<N>` (rma contract 1.3): 14, 13 for NCCL; 16, 15, 14, 13 for RCCL;
/// empty for callers older than 2.30 and for libnccom, which know no RMA plugin.
[[nodiscard]] std::span<const int> rma_probe_order(Host host, int release) noexcept;

}  // namespace duofi::loader
