#include "common/topology/topo_file.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>
#include <tuple>

#include "common/topology/io_places.hpp"
#include "common/topology/nic_groups.hpp"

namespace duofi::topology {
namespace {

struct Generation {
    double transfers;  ///< 10^9 per second and lane
    double gigabits;   ///< of data, per second and lane
    std::string_view text;
};

/// From one to the next what a lane carries doubles, near enough: NCCL counts so.
constexpr std::array<Generation, 6> kGenerations{{{2.5, 2.0, "2.5 GT/s PCIe"},
                                                  {5.0, 4.0, "5.0 GT/s PCIe"},
                                                  {8.0, 7.877, "8.0 GT/s PCIe"},
                                                  {16.0, 15.754, "16.0 GT/s PCIe"},
                                                  {32.0, 31.508, "32.0 GT/s PCIe"},
                                                  {64.0, 63.015, "64.0 GT/s PCIe"}}};
constexpr std::size_t kUsualGeneration = 3;
constexpr int kUsualLanes = 8, kMostUsefulLanes = 16;

struct Link {
    std::size_t generation = kUsualGeneration;
    int lanes = kUsualLanes;
    /// In lanes of the first generation.
    [[nodiscard]] int width() const { return lanes << generation; }
};

std::optional<std::size_t> generation_of(double transfers) {
    const auto found = std::ranges::find(kGenerations, transfers, &Generation::transfers);
    if (found == kGenerations.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kGenerations.begin());
}

/// The link that carries so much. Links of other shapes that carry the same are as good.
std::optional<Link> link_of_gigabytes(double gigabytes) {
    constexpr double kSlack = 0.03;  // coded and raw rates
    for (const int lanes : {16, 8, 4, 2, 1, 32, 12})
        for (std::size_t i = 0; i < kGenerations.size(); ++i) {
            const double exact = kGenerations[i].gigabits * lanes / 8;
            if (std::abs(gigabytes - exact) < exact * kSlack) return Link{i, lanes};
        }
    return std::nullopt;
}

std::optional<Link> known_link(const IoObject& object) {
    const auto generation = generation_of(object.link_speed);
    if (generation && object.link_width > 0) return Link{*generation, object.link_width};
    if (generation || object.link_width > 0) return std::nullopt;
    return link_of_gigabytes(object.gigabytes);
}

Link nic_link(const IoObject& nic) {
    if (const auto link = known_link(nic)) return *link;
    return {generation_of(nic.link_speed).value_or(kUsualGeneration),
            nic.link_width > 0 ? nic.link_width : kUsualLanes};
}

/// Widest link of the accelerators next to a NIC; 0 when not known.
int accelerator_width(const IoTree& tree, const IoPlaces& places, std::size_t nic) {
    std::vector<int> widest(places.size(), -1);  // -1: no accelerator below
    for (std::size_t i = 0; i < tree.objects.size(); ++i) {
        if (!attracts_nics(tree.objects[i])) continue;
        const auto link = known_link(tree.objects[i]);
        for (auto at = places.above(i); at; at = places.above(*at))
            widest[*at] = std::max(widest[*at], link ? link->width() : 0);
    }
    for (auto at = places.above(nic); at; at = places.above(*at))
        if (widest[*at] >= 0) return widest[*at];
    return 0;
}

/// The place of one leader in the file.
struct Entry {
    int node = 0;
    std::vector<PciAddress> path;  ///< from the top; the leader is the last one
    PciLink link;
};

int node_of(const IoTree& tree, const IoObject& top, const IoObject& host) {
    if (top.kernel_node) return *top.kernel_node;
    if (host.numa_nodes.size() == 1) return host.numa_nodes.front();
    if (tree.numa.size() <= 1) return tree.numa.empty() ? 0 : tree.numa.front().number;
    return -1;
}

/// NCCL takes every second bridge on the way up from a card: the others are the ports of the same switches.
Entry entry_of(const IoTree& tree, std::size_t leader) {
    Entry entry;
    std::size_t top = leader, at = leader;
    entry.path.push_back(tree.objects[leader].address);
    for (int bridges = 0; tree.objects[at].parent >= 0;) {
        at = static_cast<std::size_t>(tree.objects[at].parent);
        if (tree.objects[at].kind == IoObject::Kind::host_bridge || ++bridges % 2 != 0) continue;
        entry.path.insert(entry.path.begin(), tree.objects[at].address);
        top = at;
    }
    entry.node = node_of(tree, tree.objects[top], tree.objects[at]);
    return entry;
}

/// Entries in order, those below the same switch together.
class Writer {
  public:
    explicit Writer(std::uint64_t host_hash) : host_hash_(host_hash) {}

    std::string run(const std::vector<Entry>& entries) {
        for (const Entry& entry : entries) {
            if (!node_ || *node_ != entry.node) enter_node(entry.node);
            enter_switches(entry.path);
            line(fmt::format("<pci busid=\"{}\" link_speed=\"{}\" link_width=\"{}\"/>", entry.path.back().text(),
                             entry.link.speed, entry.link.lanes));
        }
        leave_node();
        return "<system version=\"1\">\n" + text_ + "</system>\n";
    }

  private:
    void line(const std::string& text) {
        const std::size_t depth = open_.size() + (node_ ? 2 : 1);
        text_ += std::string(depth * 2, ' ') + text + "\n";
    }

    void enter_node(int node) {
        leave_node();
        line(fmt::format("<cpu host_hash=\"0x{:x}\" numaid=\"{}\">", host_hash_, node));
        node_ = node;
    }

    void leave_node() {
        if (!node_) return;
        leave_switches(0);
        node_.reset();
        line("</cpu>");
    }

    void enter_switches(const std::vector<PciAddress>& path) {
        const auto end = path.end() - 1;
        const auto first = std::mismatch(path.begin(), end, open_.begin(), open_.end()).first;
        leave_switches(static_cast<std::size_t>(first - path.begin()));
        for (auto at = first; at != end; ++at) {
            line(fmt::format("<pci busid=\"{}\">", at->text()));
            open_.push_back(*at);
        }
    }

    void leave_switches(std::size_t but) {
        while (open_.size() > but) {
            open_.pop_back();
            line("</pci>");
        }
    }

    std::uint64_t host_hash_;
    std::optional<int> node_;
    std::vector<PciAddress> open_;
    std::string text_;
};

/// With vm.memfd_noexec the kernel wants to be told that a file is no program; older kernels do not know the flag.
int make_memfd() {
    constexpr unsigned kNoExecSeal = 0x8;
    const int fd = ::memfd_create("duofi_topo", kNoExecSeal);
    return fd < 0 && errno == EINVAL ? ::memfd_create("duofi_topo", 0) : fd;
}

}  // namespace

PciLink group_link(const IoTree& tree, const RailGroup& group) {
    Link shown;
    int width = 0;
    for (const PciAddress& nic : group.nics) {
        const auto device = find_device(tree, nic);
        const Link link = device ? nic_link(tree.objects[*device]) : Link{};
        if (&nic == &group.nics.front()) shown = link;
        width += link.width();
    }
    const auto leader = group.nics.empty() ? std::nullopt : find_device(tree, group.nics.front());
    const int most = leader ? accelerator_width(tree, IoPlaces(tree), *leader) : 0;
    if (most > 0) width = std::min(width, most);
    std::size_t generation = 0;
    while (generation + 1 < kGenerations.size() && width % 2 == 0 &&
           (generation < shown.generation || width > kMostUsefulLanes)) {
        ++generation;
        width /= 2;
    }
    return {kGenerations[generation].text, width};
}

std::string topo_file_text(const IoTree& tree, std::span<const RailGroup> groups, std::uint64_t host_hash) {
    std::vector<Entry> entries;
    for (const RailGroup& group : groups) {
        if (group.nics.size() < 2) continue;
        const auto leader = find_device(tree, group.nics.front());
        if (!leader) continue;
        entries.push_back(entry_of(tree, *leader));
        entries.back().link = group_link(tree, group);
    }
    if (entries.empty()) return {};
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::tie(entry.node, entry.path); });
    return Writer(host_hash).run(entries);
}

Result<UniqueFd> topo_file(std::string_view text) {
    UniqueFd file(make_memfd());
    if (!file) return fail(Errc::system, "memfd_create", errno);
    while (!text.empty()) {
        const ssize_t written = ::write(file.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return fail(Errc::system, "write", written < 0 ? errno : EIO);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail(Errc::system, "lseek", errno);
    return file;
}

}  // namespace duofi::topology
