#include "common/topology/io_places.hpp"

#include <algorithm>

namespace duofi::topology {
namespace {

using NodeSet = std::vector<int>;

NodeSet sorted(NodeSet nodes) {
    std::ranges::sort(nodes);
    return nodes;
}

/// All places of a tree, small ones first.
std::vector<NodeSet> places_of(const IoTree& tree) {
    std::vector<NodeSet> places;
    for (const NodeSet& nodes : tree.places) places.push_back(sorted(nodes));
    for (const IoObject& object : tree.objects) places.push_back(sorted(object.numa_nodes));
    std::erase_if(places, [](const NodeSet& nodes) { return nodes.empty(); });
    std::ranges::sort(places, [](const NodeSet& a, const NodeSet& b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

}  // namespace

IoPlaces::IoPlaces(const IoTree& tree) {
    const std::vector<NodeSet> places = places_of(tree);
    const std::size_t first = tree.objects.size();
    const std::size_t top = first + places.size();
    for (const IoObject& object : tree.objects) {
        const auto place = std::ranges::find(places, sorted(object.numa_nodes));
        const auto number = static_cast<std::size_t>(place - places.begin());  // past the last one: the root
        above_.push_back(object.parent >= 0 ? static_cast<std::size_t>(object.parent) : first + number);
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        std::size_t larger = i + 1;
        while (larger < places.size() && (places[larger].size() == places[i].size() ||
                                          !std::ranges::includes(places[larger], places[i])))
            ++larger;
        above_.push_back(first + larger);
    }
    above_.push_back(top);
}

std::optional<std::size_t> find_device(const IoTree& tree, const PciAddress& address) noexcept {
    const auto found = std::ranges::find_if(tree.objects, [&](const IoObject& object) {
        return object.kind == IoObject::Kind::device && object.address == address;
    });
    if (found == tree.objects.end()) return std::nullopt;
    return static_cast<std::size_t>(found - tree.objects.begin());
}

}  // namespace duofi::topology
