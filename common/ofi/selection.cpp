#include "common/ofi/selection.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/ofi/quirks.hpp"

namespace duofi::ofi {
namespace {

bool is_sockaddr(const Candidate& entry) {
    return entry.address_class != AddressClass::other;
}

std::size_t rank(const Candidate& entry, const SelectionRules& rules) {
    return preference_order(entry.provider, rules.libfabric_version);
}

std::string provider_reason(const Candidate& entry, const SelectionRules& rules) {
    if (rules.filter_by_name && !admits_provider(rules.ofi_provider, entry.provider))
        return "provider is not in DUOFI_OFI_PROVIDER";
    const Quirk& quirk = quirk_for(entry.provider, rules.libfabric_version);
    if (quirk.refused[0] != '\0') return quirk.refused;
    if (quirk.preference == Preference::by_name &&
        !names_provider(rules.ofi_provider, entry.provider) &&
        !names_provider(rules.fi_provider, entry.provider))
        return "used only when named in DUOFI_OFI_PROVIDER or FI_PROVIDER";
    return {};
}

std::string address_reason(const Candidate& entry, const SelectionRules& rules) {
    if (entry.address_class == AddressClass::missing)
        return "no local address; does the interface named in FI_TCP_IFACE exist?";
    const bool named = rules.interfaces.named(entry.interface);
    if (entry.address_class == AddressClass::link_local && !named)
        return "the address is only link-local";
    if (entry.ipv6 && !rules.use_ipv6) return "IPv6 address; OFI_NCCL_USE_IPV6_TCP=1 allows it";
    return {};
}

Verdict verdict_of(const Candidate& entry, const SelectionRules& rules) {
    return is_sockaddr(entry) && !entry.interface.empty()
               ? rules.interfaces.judge(entry.interface, entry.loopback)
               : Verdict::use;
}

/// Why an entry cannot be used whatever else there is.
std::string own_reason(const Candidate& entry, const SelectionRules& rules) {
    if (auto reason = provider_reason(entry, rules); !reason.empty()) return reason;
    if (!entry.unmet.empty()) return entry.unmet;
    if (verdict_of(entry, rules) == Verdict::refused)
        return rules.interfaces.reason(entry.interface, entry.loopback);
    return is_sockaddr(entry) ? address_reason(entry, rules) : std::string();
}

/// What must agree between devices of one list. Fabric names of sockaddr providers are subnets, so
/// they tell nothing there; the caps differ between loopback and the rest, and were checked before
/// (net contract 4.4).
std::string difference(const Candidate& entry, const Candidate& first) {
    if (entry.provider != first.provider) return "provider " + first.provider + " is preferred";
    if (entry.protocol != first.protocol || entry.mode != first.mode ||
        is_sockaddr(entry) != is_sockaddr(first))
        return "protocol or mode differs from the first device";
    if (!is_sockaddr(entry) &&
        (entry.fabric != first.fabric || entry.address_format != first.address_format))
        return "fabric differs from that of the first device, " + first.fabric;
    return {};
}

/// IPv4 before IPv6 before link-local; the first address of an interface before later ones, which
/// may move to another node (A8).
std::pair<AddressClass, bool> address_order(const Candidate& entry) {
    return {entry.address_class, !entry.primary};
}

class Selector {
  public:
    Selector(std::span<const Candidate> candidates, const SelectionRules& rules)
        : candidates_(candidates), rules_(rules) {}

    Selection run() {
        result_.reasons.resize(candidates_.size());
        for (std::size_t i = 0; i < candidates_.size(); ++i)
            if (refuse(i, own_reason(candidates_[i], rules_))) left_.push_back(i);
        if (left_.empty()) return std::move(result_);
        keep_best_verdict();
        keep_like_first();
        keep_one_per_nic();
        sort();
        result_.chosen = std::move(left_);
        return std::move(result_);
    }

  private:
    /// Notes the reason; true if there is none, i.e. the entry stays.
    bool refuse(std::size_t index, std::string reason) {
        result_.reasons[index] = std::move(reason);
        return result_.reasons[index].empty();
    }

    template <typename Reason>
    void keep_without(Reason reason) {
        std::erase_if(left_, [&](std::size_t i) { return !refuse(i, reason(candidates_[i])); });
    }

    void keep_best_verdict() {
        Verdict best = Verdict::refused;
        for (const std::size_t i : left_) best = std::min(best, verdict_of(candidates_[i], rules_));
        result_.loopback_only = best == Verdict::only_if_alone;
        result_.default_list_overruled = best == Verdict::last_resort;
        keep_without([&](const Candidate& entry) {
            return verdict_of(entry, rules_) == best
                       ? std::string()
                       : rules_.interfaces.reason(entry.interface, entry.loopback);
        });
    }

    void keep_like_first() {
        const std::size_t first =
            *std::min_element(left_.begin(), left_.end(), [&](auto a, auto b) {
                return std::tuple(rank(candidates_[a], rules_), a) <
                       std::tuple(rank(candidates_[b], rules_), b);
            });
        keep_without([&](const Candidate& entry) { return difference(entry, candidates_[first]); });
        tell_other_providers(candidates_[first]);
    }

    /// What its interfaces are like no longer matters for a provider that is not taken: one reason
    /// for all.
    void tell_other_providers(const Candidate& first) {
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            const Candidate& entry = candidates_[i];
            if (entry.provider != first.provider && provider_reason(entry, rules_).empty() &&
                entry.unmet.empty())
                result_.reasons[i] = difference(entry, first);
        }
    }

    void keep_one_per_nic() {
        std::map<std::string, std::size_t> best;
        for (const std::size_t i : left_) {
            const auto [place, added] = best.try_emplace(candidates_[i].domain, i);
            if (!added && address_order(candidates_[i]) < address_order(candidates_[place->second]))
                place->second = i;
        }
        std::erase_if(left_, [&](std::size_t i) {
            const std::size_t kept = best.at(candidates_[i].domain);
            if (kept == i) return false;
            const bool same = candidates_[i].address == candidates_[kept].address;
            return !refuse(i, same ? "offered more than once"
                                   : "same NIC as address " + candidates_[kept].address);
        });
    }

    void sort() {
        std::sort(left_.begin(), left_.end(), [&](std::size_t a, std::size_t b) {
            const Candidate &x = candidates_[a], &y = candidates_[b];
            return std::tuple(!x.pci, x.pci, x.domain) < std::tuple(!y.pci, y.pci, y.domain);
        });
    }

    std::span<const Candidate> candidates_;
    const SelectionRules& rules_;
    Selection result_;
    std::vector<std::size_t> left_;
};

}  // namespace

Selection select(std::span<const Candidate> candidates, const SelectionRules& rules) {
    return Selector(candidates, rules).run();
}

std::string device_name(const std::string& domain, int copy, std::span<const std::string> taken) {
    std::string name = "duofi_" + domain;
    if (copy > 0) name += fmt::format("_{}", copy);
    const std::string base = name;
    for (int n = 1; std::find(taken.begin(), taken.end(), name) != taken.end(); ++n)
        name = fmt::format("{}_{}", base, n);
    return name;
}

}  // namespace duofi::ofi
