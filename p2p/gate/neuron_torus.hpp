// Neuron machines: which chips (MLAs) are joined by links, and which reach each other's memory
// (p2p contract 3.4). Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "p2p/gate/topology.hpp"

namespace duofi::p2p {

/// Numbers of the vendor's runtime (nrt.h of 2026; 10 was the first Trn3's before).
enum class NeuronFamily : std::int32_t {
    none = 0,
    inf1 = 1,
    trn1,
    trn1n,
    inf2,
    trn2,
    trn2n,
    inf2e,
    trn2p,
    trn2u,
    trn2e,
    trn3 = 14,
    trn3_switch,
};

inline constexpr int kTorusSide = 4;
inline constexpr int kTorusChips = kTorusSide * kTorusSide;

/// True for chips that stand in a 4x4 torus.
[[nodiscard]] bool is_torus(NeuronFamily family) noexcept;

/// Chips behind ports 0 to 3: row - 1, column - 1, row + 1, column + 1, each modulo 4.
[[nodiscard]] std::array<int, 4> torus_neighbours(int chip) noexcept;
/// Links on the shortest way, 0 to 4.
[[nodiscard]] int torus_distance(int a, int b) noexcept;

/// Chip of a core: `cores_per_chip` physical cores, of which `virtual_core_size` make one core.
[[nodiscard]] int chip_of_core(int core, int cores_per_chip, int virtual_core_size) noexcept;

/// Chip and server in a routing id of the switched family.
[[nodiscard]] constexpr int chip_of_routing_id(int id) noexcept { return id & 0xf; }
[[nodiscard]] constexpr int server_of_routing_id(int id) noexcept { return id >> 4; }

/// What the instance's chips can reach.
enum class NeuronReach {
    adjacent,  ///< themselves and what one link leads to
    instance,  ///< every chip of the same server
};

/// One chip for the oracle.
struct NeuronChip {
    NeuronFamily family = NeuronFamily::none;
    int mla = -1;
    int routing_id = -1;
};

/// Whether the memory of `b` can be reached from `a`, both in one server. `present` are the MLA
/// indexes of that server. Symmetric.
[[nodiscard]] bool neuron_can_access(const NeuronChip& a, const NeuronChip& b,
                                     std::span<const int> present, NeuronReach reach);
/// The same for two devices of a model; true for devices that are no Neuron chips.
[[nodiscard]] bool model_can_access(const TopoModel& model, std::int64_t bus_a, std::int64_t bus_b,
                                    NeuronReach reach);

/// Adds the links between the Neuron devices of a model, as their family has them.
void connect_neuron_links(TopoModel& model);

/// A whole instance: "trn1", "trn2", "trn3", "trn3switch" or "inf2", with 1, 4, 8 or 16 chips (inf2:
/// 1, 6 or 12) on two NUMA nodes, made-up bus ids. Nothing for other names and counts.
[[nodiscard]] std::optional<TopoModel> neuron_instance(std::string_view name, int chips);

}  // namespace duofi::p2p
