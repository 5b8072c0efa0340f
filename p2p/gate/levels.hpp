// Types of paths between devices, and which of them P2P may use (p2p contract 3.2, 3.3). Values and
// pure functions; any thread.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace duofi::p2p {

/// From near to far; "distance <= level" compares the numbers (those of NCCL 2.30).
enum class PathType : int {
    loc,  ///< the same device
    nvl,  ///< a direct fast link
    nvb,  ///< two fast links, through one other device
    c2c,  ///< a chip-to-chip link to the CPU
    pix,  ///< at most one PCIe switch
    pxb,  ///< several PCIe switches
    p2c,  ///< chip-to-chip link to the CPU, then PCIe
    pxn,  ///< through another device's NIC
    phb,  ///< through the host bridge of one NUMA node
    sys,  ///< from NUMA node to NUMA node
    net,  ///< only through the network
    dis,  ///< not at all
};
inline constexpr int kPathTypes = 12;

/// "LOC", "NVL", ...
[[nodiscard]] const char* to_string(PathType type) noexcept;
/// The number that NCCL 2.8 gives this type, -1 for types that it does not have.
[[nodiscard]] int era_value(PathType type) noexcept;

/// NCCL_P2P_LEVEL: a name from LOC to SYS, exactly so, or a number of the first releases, of which
/// the leading digits count (0 LOC, 1 PIX, 2 PXB, 3 PHB, from 4 on SYS). Nothing for other texts.
[[nodiscard]] std::optional<PathType> parse_level(std::string_view text) noexcept;
/// Those names, for messages.
[[nodiscard]] const char* accepted_levels() noexcept;

/// Whose default applies.
enum class LevelRule {
    shared_memory,  ///< CPUs: memory is shared across NUMA nodes
    accelerator,    ///< GPUs behind PCIe
};

/// SYS for shared memory; PXB for accelerators, but SYS on AMD with at most two of them. `cpu_vendor`
/// as the CPU spells it ("AuthenticAMD"), may be empty.
[[nodiscard]] PathType default_level(LevelRule rule, std::string_view cpu_vendor,
                                     int devices) noexcept;

}  // namespace duofi::p2p
