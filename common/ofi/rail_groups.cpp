#include "common/ofi/rail_groups.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <utility>

#include "common/ofi/discovery.hpp"
#include "common/ofi/handshake.hpp"
#include "common/ofi/port_table.hpp"
#include "common/ofi/quirks.hpp"
#include "common/topology/machine.hpp"
#include "common/topology/topo_file.hpp"
#include "common/util/host_hash.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"
#include "common/util/parse.hpp"

namespace duofi::ofi {

namespace {

static_assert(topology::kMaxRails == ofi::kMaxRails);

std::atomic<int> g_written{-1};  // what the net tables do; -1: not known
std::atomic<int> g_shown{-1};    // what the RMA tables took it for when they made their list

using Groups = std::vector<RailInfos>;

/// NICs of the bus, and only those that were not made several devices of on purpose.
RailInfos groupable(const DeviceList& list, const Settings& settings) {
    RailInfos found;
    if (settings.nic_dup_conns > 1) return found;
    for (const DeviceInfo& device : list.devices)
        if (device.pci) found.push_back(&device);
    return found;
}

Result<Groups> by_place(const RailInfos& nics, const Settings& settings, const RailRules& rules,
                        const topology::IoTree& tree) {
    std::vector<topology::PciAddress> addresses;
    for (const DeviceInfo* nic : nics) addresses.push_back(*nic->pci);
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
        if (quirk_for(group.front()->provider, libfabric_version).same_node_only) continue;
        for (std::size_t i = 0; group.size() < wanted; ++i) group.push_back(group[i]);
    }
    return after;
}

/// Settings of the user that change nothing here.
void log_unused(const Settings& settings, const char* forced, const char* widened) {
    constexpr unsigned long kWhere = log::init | log::net;
    if (forced != nullptr && settings.force_num_rails > 0)
        log::info(kWhere, messages::kRailsUnused, "OFI_NCCL_FORCE_NUM_RAILS", settings.force_num_rails, forced);
    if (widened != nullptr && settings.tcp_rails > 1)
        log::info(kWhere, messages::kRailsUnused, "DUOFI_NET_TCP_RAILS", settings.tcp_rails, widened);
}

Groups alone(const DeviceList& list) {
    Groups groups;
    for (const DeviceInfo& device : list.devices) groups.push_back({&device});
    return groups;
}

}  // namespace

Result<topology::IoTree> machine_tree() {
    DUOFI_ASSIGN(const topology::Machine machine, topology::Machine::load(topology::IoKeep::all));
    topology::IoTree tree = machine.io_tree();
    topology::add_links(topology::Sysfs(), tree);
    return tree;
}

bool writes_planned(const Settings& settings, const topology::Platform& platform) {
    const std::string_view word = settings.protocol.empty() ? platform.protocol : std::string_view(settings.protocol);
    if (!word.empty()) return equal_ignoring_case(word, "RDMA");
    // The provider is asked for only where it decides.
    const std::string provider = likely_provider(settings, tagged_requirements(settings));
    return quirk_for(provider, ::fi_version()).prefers_writes;
}

void settle_writes(bool written) noexcept {
    g_written.store(written ? 1 : 0, std::memory_order_release);
    const int shown = g_shown.load(std::memory_order_acquire);
    if (shown >= 0 && (shown != 0) != written) log::warn(log::init | log::net, messages::kDevicesDiffer);
}

void show_writes(bool written) noexcept { g_shown.store(written ? 1 : 0, std::memory_order_release); }

std::optional<bool> settled_writes() noexcept {
    const int written = g_written.load(std::memory_order_acquire);
    return written < 0 ? std::nullopt : std::optional<bool>(written != 0);
}

Result<Groups> rail_groups(const DeviceList& list, const Settings& settings, const RailRules& rules) {
    const auto wanted = std::min(static_cast<std::size_t>(std::max(settings.tcp_rails, 1)), kMaxRails);
    Groups groups = alone(list);
    if (!rules.written) {
        constexpr char kWhy[] = "only protocol RDMA has rails (OFI_NCCL_PROTOCOL=RDMA)";
        log_unused(settings, kWhy, kWhy);
        return groups;
    }
    const RailInfos nics = groupable(list, settings);
    if (settings.nic_dup_conns > 1)
        log_unused(settings, "OFI_NCCL_NIC_DUP_CONNS makes several devices of each NIC", nullptr);
    else if (nics.size() < 2)
        log_unused(settings, "there are not two NICs on a PCI bus; DUOFI_NET_TCP_RAILS groups other interfaces", nullptr);
    const auto tree = nics.size() > 1 ? rules.tree() : Result<topology::IoTree>();
    if (!tree) {
        log::warn(log::init | log::net, messages::kNoTree, tree.error().place, tree.error().provider_errno);
    } else if (nics.size() > 1) {
        DUOFI_ASSIGN(const Groups placed, by_place(nics, settings, rules, *tree));
        std::erase_if(groups, [&](const RailInfos& group) { return group.front()->pci.has_value(); });
        groups.insert(groups.end(), placed.begin(), placed.end());
        std::ranges::sort(groups, {}, [](const RailInfos& group) { return group.front(); });  // as in the list
        if (std::ranges::all_of(groups, [](const RailInfos& group) { return group.size() > 1; }))
            log_unused(settings, nullptr, "all NICs are grouped by their places");
    }
    return wanted == 1 ? groups : widened(groups, wanted, list.libfabric_version);
}

int most_comms(bool written) noexcept {
    constexpr int kWritten = 32768;  // as the peer plugin's
    return written ? kWritten : static_cast<int>(PortTable::kMaxPorts);
}

int speed_of(const RailInfos& rails) noexcept {
    std::int64_t sum = 0;
    for (auto rail = rails.begin(); rail != rails.end(); ++rail) {
        const auto same = [&](const DeviceInfo* other) { return other->domain_name == (*rail)->domain_name; };
        if (std::find_if(rails.begin(), rail, same) == rail) sum += (*rail)->speed_mbps;
    }
    return static_cast<int>(std::min<std::int64_t>(sum, INT_MAX));
}

std::string publish_topology(const Groups& groups, const RailRules& rules) {
    std::vector<topology::RailGroup> wide;
    for (const RailInfos& group : groups) {
        topology::RailGroup nics;
        for (const DeviceInfo* rail : group)
            if (rail->pci && std::ranges::find(nics.nics, *rail->pci) == nics.nics.end()) nics.nics.push_back(*rail->pci);
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

}  // namespace duofi::ofi
