#include "common/topology/nic_groups.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "common/topology/io_places.hpp"

namespace duofi::topology {
namespace {

constexpr std::uint16_t kNvidia = 0x10de, kAmd = 0x1002;
constexpr int kDisplayClass = 0x03, kAcceleratorClass = 0x12;

using Group = std::vector<std::size_t>;

/// Deals a list to so many groups, none of them empty.
std::vector<Group> deal(const Group& all, std::size_t parts) {
    parts = std::clamp<std::size_t>(parts, 1, all.size());
    std::vector<Group> dealt;
    auto from = all.begin();
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t count = all.size() / parts + (part < all.size() % parts ? 1 : 0);
        const auto to = from + static_cast<std::ptrdiff_t>(count);
        dealt.emplace_back(from, to);
        from = to;
    }
    return dealt;
}

class Grouping {
  public:
    Grouping(const IoTree& tree, std::span<const PciAddress> nics, const GroupRules& rules)
        : tree_(tree), nics_(nics), rules_(rules), places_(tree), wanted_(places_.size()), nics_at_(places_.size()) {}

    Result<std::vector<Group>> run() {
        if (rules_.accelerators) count_groups();
        for (std::size_t nic = 0; nic < nics_.size(); ++nic) place(nic);
        for (std::size_t at = 0; at < nics_at_.size(); ++at)
            if (!nics_at_[at].empty()) DUOFI_TRY(split(at));
        std::ranges::sort(groups_);  // by their leaders
        return std::move(groups_);
    }

  private:
    /// Nearest place above `from` that `accepts`.
    template <typename Accepts>
    [[nodiscard]] std::optional<std::size_t> nearest(std::size_t from, Accepts accepts) const {
        auto at = places_.above(from);
        while (at && !accepts(*at)) at = places_.above(*at);
        return at;
    }

    void count_groups() {
        std::vector<bool> has_nic(places_.size());
        for (const PciAddress& nic : nics_)
            for (auto at = find_device(tree_, nic); at; at = places_.above(*at)) has_nic[*at] = true;
        for (std::size_t i = 0; i < tree_.objects.size(); ++i)
            if (attracts_nics(tree_.objects[i]))
                if (const auto at = nearest(i, [&](std::size_t place) { return has_nic[place]; })) ++wanted_[*at];
    }

    void place(std::size_t nic) {
        const auto device = find_device(tree_, nics_[nic]);
        const auto at = device ? nearest(*device, [this](std::size_t i) { return wanted_[i] > 0; }) : std::nullopt;
        if (at)
            nics_at_[*at].push_back(nic);
        else if (!(device && rules_.accelerators && rules_.skip_without_accelerator))
            groups_.push_back({nic});
    }

    Status split(std::size_t at) {
        Group& all = nics_at_[at];
        std::ranges::stable_sort(all, {}, [this](std::size_t nic) { return nics_[nic]; });
        for (const Group& near : deal(all, wanted_[at])) {
            const auto forced = static_cast<std::size_t>(rules_.force_rails);
            const std::size_t most = forced > 0 ? forced : near.size();
            for (Group& group : deal(near, (near.size() + most - 1) / most)) {
                if (group.size() > kMaxRails)
                    return fail(Errc::invalid_argument, "group of more than four NICs at one accelerator");
                if (rules_.sort_by_function)
                    std::ranges::stable_sort(group, {}, [this](std::size_t nic) {
                        return std::tuple(nics_[nic].function, nics_[nic]);
                    });
                groups_.push_back(std::move(group));
            }
        }
        return {};
    }

    const IoTree& tree_;
    std::span<const PciAddress> nics_;
    const GroupRules& rules_;
    const IoPlaces places_;
    std::vector<std::size_t> wanted_;  ///< groups, by place
    std::vector<Group> nics_at_;       ///< NICs to deal, by place
    std::vector<Group> groups_;
};

}  // namespace

bool attracts_nics(const IoObject& object) noexcept {
    if (object.kind != IoObject::Kind::device) return false;
    const int base = object.pci_class >> 8;
    if (object.vendor == kNvidia) return base == kDisplayClass;
    return object.vendor == kAmd && (base == kDisplayClass || base == kAcceleratorClass);
}

Result<std::vector<std::vector<std::size_t>>> group_nics(const IoTree& tree, std::span<const PciAddress> nics,
                                                         const GroupRules& rules) {
    if (rules.force_rails < 0 || rules.force_rails > static_cast<int>(kMaxRails))
        return fail(Errc::invalid_argument, "number of rails per device");
    return Grouping(tree, nics, rules).run();
}

}  // namespace duofi::topology
