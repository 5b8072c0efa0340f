#include "net_plugin/rail_groups.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/ofi/handshake.hpp"
#include "common/ofi/quirks.hpp"
#include "common/topology/pci_address.hpp"
#include "common/topology/topo_file.hpp"
#include "common/util/host_hash.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"

namespace duofi::net {

namespace {

static_assert(topology::kMaxRails == ofi::kMaxRails);

using Groups = std::vector<RailInfos>;

std::optional<topology::PciAddress> pci_address(const ofi::DeviceInfo& device) {
    const std::string path = device.pci_path.value_or("");
    return topology::PciAddress::parse(std::string_view(path).substr(path.rfind('/') + 1));
}

/// NICs of the bus, and only those that were not made several devices of on purpose.
RailInfos groupable(const ofi::DeviceList& list, const Settings& settings) {
    RailInfos found;
    if (settings.nic_dup_conns > 1) return found;
    for (const ofi::DeviceInfo& device : list.devices)
        if (pci_address(device)) found.push_back(&device);
    return found;
}

Result<Groups> by_place(const RailInfos& nics, const Settings& settings, const RailRules& rules) {
    std::vector<topology::PciAddress> addresses;
    for (const ofi::DeviceInfo* nic : nics) addresses.push_back(*pci_address(*nic));
    DUOFI_ASSIGN(const topology::IoTree tree, rules.tree());
    topology::GroupRules how;
    how.force_rails = settings.force_num_rails;
    how.accelerators = rules.accelerators;
    how.sort_by_function = rules.sort_by_function;
    const auto indices = topology::group_nics(tree, addresses, how);
    if (!indices) {
        log::warn(log::init | log::net, messages::kTooManyRails, topology::kMaxRails);
        return tl::unexpected(indices.error());
    }
    Groups groups;
    for (const std::vector<std::size_t>& members : *indices) {
        groups.emplace_back();
        for (const std::size_t member : members) groups.back().push_back(nics[member]);
    }
    return groups;
}

/// Those that are alone in groups of `wanted`, in the order of the list; NICs that are too few carry several rails, but not where
/// two endpoints of one process would reach into each other's memory.
Groups widened(const Groups& before, std::size_t wanted, std::uint32_t libfabric_version) {
    Groups after;
    std::vector<std::size_t> opened;
    for (const RailInfos& group : before) {
        if (group.size() == 1 && !opened.empty() && after[opened.back()].size() < wanted) {
            after[opened.back()].push_back(group.front());
            continue;
        }
        after.push_back(group);
        if (group.size() == 1) opened.push_back(after.size() - 1);
    }
    for (const std::size_t index : opened) {
        RailInfos& group = after[index];
        if (ofi::quirk_for(group.front()->provider, libfabric_version).same_node_only) continue;
        for (std::size_t i = 0; group.size() < wanted; ++i) group.push_back(group[i]);
    }
    return after;
}

Groups alone(const ofi::DeviceList& list) {
    Groups groups;
    for (const ofi::DeviceInfo& device : list.devices) groups.push_back({&device});
    return groups;
}

}  // namespace

Result<Groups> rail_groups(const ofi::DeviceList& list, const Settings& settings, const RailRules& rules) {
    const auto wanted = std::min(static_cast<std::size_t>(std::max(settings.tcp_rails, 1)), ofi::kMaxRails);
    Groups groups = alone(list);
    if (rules.protocol != ProtocolKind::rdma) {
        if (wanted > 1) log::info(log::init | log::net, messages::kRailsNeedRdma, wanted);
        return groups;
    }
    if (const RailInfos nics = groupable(list, settings); nics.size() > 1) {
        DUOFI_ASSIGN(const Groups placed, by_place(nics, settings, rules));
        std::erase_if(groups, [&](const RailInfos& group) { return pci_address(*group.front()).has_value(); });
        groups.insert(groups.end(), placed.begin(), placed.end());
        std::ranges::sort(groups, {}, [](const RailInfos& group) { return group.front(); });  // as in the list
    }
    return wanted == 1 ? groups : widened(groups, wanted, list.libfabric_version);
}

std::string publish_topology(const Groups& groups, const RailRules& rules) {
    std::vector<topology::RailGroup> wide;
    for (const RailInfos& group : groups) {
        topology::RailGroup nics;
        for (const ofi::DeviceInfo* rail : group)
            if (const auto address = pci_address(*rail); address && std::ranges::find(nics.nics, *address) == nics.nics.end())
                nics.nics.push_back(*address);
        if (nics.nics.size() > 1) wide.push_back(std::move(nics));
    }
    if (wide.empty()) return {};
    auto tree = rules.tree();
    if (!tree) return {};
    const std::string text = topology::topo_file_text(*tree, wide, string_hash(host_text("")));
    if (text.empty()) return {};
    auto file = topology::topo_file(text);
    return file ? "/proc/self/fd/" + std::to_string(file->release()) : std::string();
}

}  // namespace duofi::net
