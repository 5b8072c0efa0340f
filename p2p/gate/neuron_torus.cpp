#include "p2p/gate/neuron_torus.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace duofi::p2p {
namespace {

constexpr int wrapped(int value) noexcept {
    return (value + kTorusSide) % kTorusSide;
}

bool in_ring(int a, int b, int chips) noexcept {
    const int step = std::abs(a - b);
    return step == 1 || (chips > 1 && step == chips - 1);
}

bool one_link(NeuronFamily family, int a, int b, std::span<const int> present) {
    if (is_torus(family)) return a >= 0 && b >= 0 && a < kTorusChips && b < kTorusChips &&
                                 std::ranges::count(torus_neighbours(a), b) > 0;
    switch (family) {
        case NeuronFamily::trn3_switch:
            return true;
        case NeuronFamily::inf2:
        case NeuronFamily::inf2e:
            return in_ring(a, b, static_cast<int>(present.size()));
        default:
            return false;
    }
}

NeuronChip chip_of(const TopoNode& node) {
    return {static_cast<NeuronFamily>(node.device.family), node.device.mla_index,
            node.device.routing_id};
}

/// Indexes of all Neuron chips of a model.
std::vector<int> present_chips(const TopoModel& model) {
    std::vector<int> present;
    for (const TopoNode& node : model.nodes)
        if (node.kind == NodeKind::device && node.device.mla_index >= 0)
            present.push_back(node.device.mla_index);
    return present;
}

std::optional<NeuronFamily> family_of(std::string_view name) {
    if (name == "trn1") return NeuronFamily::trn1;
    if (name == "trn2") return NeuronFamily::trn2;
    if (name == "trn3") return NeuronFamily::trn3;
    if (name == "trn3switch") return NeuronFamily::trn3_switch;
    if (name == "inf2") return NeuronFamily::inf2;
    return std::nullopt;
}

/// Numbers of chips that instances have.
bool sold(NeuronFamily family, int chips) {
    if (family == NeuronFamily::inf2) return chips == 1 || chips == 6 || chips == 12;
    return chips == 1 || chips == 4 || chips == 8 || chips == kTorusChips;
}

}  // namespace

bool is_torus(NeuronFamily family) noexcept {
    switch (family) {
        case NeuronFamily::trn1:
        case NeuronFamily::trn1n:
        case NeuronFamily::trn2:
        case NeuronFamily::trn2n:
        case NeuronFamily::trn2p:
        case NeuronFamily::trn2u:
        case NeuronFamily::trn2e:
        case NeuronFamily::trn3:
            return true;
        default:
            return false;
    }
}

std::array<int, 4> torus_neighbours(int chip) noexcept {
    const int row = chip / kTorusSide, column = chip % kTorusSide;
    const auto at = [](int r, int c) { return wrapped(r) * kTorusSide + wrapped(c); };
    return {at(row - 1, column), at(row, column - 1), at(row + 1, column), at(row, column + 1)};
}

int torus_distance(int a, int b) noexcept {
    const auto along = [](int x, int y) {
        const int step = std::abs(x - y);
        return std::min(step, kTorusSide - step);
    };
    return along(a / kTorusSide, b / kTorusSide) + along(a % kTorusSide, b % kTorusSide);
}

int chip_of_core(int core, int cores_per_chip, int virtual_core_size) noexcept {
    const int cores = virtual_core_size > 0 ? cores_per_chip / virtual_core_size : 0;
    return core < 0 || cores < 1 ? -1 : core / cores;
}

bool neuron_can_access(const NeuronChip& a, const NeuronChip& b, std::span<const int> present,
                       NeuronReach reach) {
    if (a.mla < 0 || b.mla < 0) return false;
    if (a.family == NeuronFamily::trn3_switch && b.family == a.family &&
        server_of_routing_id(std::max(a.routing_id, 0)) !=
            server_of_routing_id(std::max(b.routing_id, 0)))
        return false;
    if (a.mla == b.mla) return true;
    const auto there = [&](int mla) { return std::ranges::count(present, mla) > 0; };
    if (a.family != b.family || !there(a.mla) || !there(b.mla)) return false;
    return reach == NeuronReach::instance || one_link(a.family, a.mla, b.mla, present);
}

bool model_can_access(const TopoModel& model, std::int64_t bus_a, std::int64_t bus_b,
                      NeuronReach reach) {
    const auto a = model.find(NodeKind::device, bus_a);
    const auto b = model.find(NodeKind::device, bus_b);
    if (!a || !b) return false;
    const NeuronChip first = chip_of(model.node(*a)), second = chip_of(model.node(*b));
    if (first.family == NeuronFamily::none && second.family == NeuronFamily::none) return true;
    return neuron_can_access(first, second, present_chips(model), reach);
}

void connect_neuron_links(TopoModel& model) {
    const std::vector<int> devices = model.of_kind(NodeKind::device);
    const std::vector<int> present = present_chips(model);
    for (std::size_t i = 0; i < devices.size(); ++i)
        for (std::size_t j = i + 1; j < devices.size(); ++j) {
            const NeuronChip a = chip_of(model.node(devices[i])), b = chip_of(model.node(devices[j]));
            if (a.family == NeuronFamily::none || a.mla == b.mla ||
                model.linked(devices[i], devices[j]))
                continue;
            if (neuron_can_access(a, b, present, NeuronReach::adjacent))
                model.connect(devices[i], devices[j], PathType::nvl, kFastLinkGigabytes);
        }
}

std::optional<TopoModel> neuron_instance(std::string_view name, int chips) {
    const auto family = family_of(name);
    if (!family || !sold(*family, chips)) return std::nullopt;
    TopoModel model;
    model.source = "description " + std::string(name) + ":" + std::to_string(chips);
    for (int chip = 0; chip < chips; ++chip) {
        TopoNode node;
        node.id = made_up_bus_id(chip);
        node.device.family = static_cast<std::int32_t>(*family);
        node.device.mla_index = chip;
        node.device.host_device = chip;
        node.device.routing_id = chip;
        node.device.numa_node = chip * 2 >= kTorusChips ? 1 : 0;
        const int numa = node.device.numa_node;
        const int device = model.add(std::move(node));
        model.connect_pci(device, model.cpu(numa), kPciLinkGigabytes);
    }
    model.connect_cpus();
    connect_neuron_links(model);
    return model;
}

}  // namespace duofi::p2p
