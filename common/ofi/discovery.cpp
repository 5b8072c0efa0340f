#include "common/ofi/discovery.hpp"

#include <fmt/core.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "common/ofi/errors.hpp"
#include "common/ofi/selection.hpp"
#include "common/ofi/signal_guard.hpp"
#include "common/util/log.hpp"
#include "common/util/messages/ofi_discovery.hpp"

namespace duofi::ofi {
namespace {

/// Information in general, a warning when the user asked for this plugin by name (A4, A22).
template <typename... Args>
void report(bool as_warning, log::Format<std::type_identity_t<Args>...> line, Args&&... args) {
    const log::Level level = as_warning ? log::Level::warn : log::Level::info;
    if (log::enabled(level))
        log::write(level, log::init | log::net, line.file, line.line, line.text,
                   fmt::make_format_args(args...));
}

struct Answer {
    int code = 0;
    InfoPtr list;
};

// libfabric reads its environment when it is asked for the first time in a process.
Answer ask(const Requirements& needs, const std::string& provider, bool with_wanted,
           const std::vector<EnvironmentDefault>& variables = {}) {
    static std::once_flag first;
    const InfoPtr hints = make_hints(needs, provider, with_wanted);
    if (!hints) return {-FI_ENOMEM, nullptr};
    fi_info* list = nullptr;
    std::optional<int> code;
    const auto call = [&] { code = fi_getinfo(effective_api_version(needs), nullptr, nullptr, 0, hints.get(), &list); };
    std::call_once(first, [&] {
        for (const EnvironmentDefault& variable : variables)
            if (!environment_value(variable.name))
                log::info(log::init | log::net, messages::kVariableForLibfabric, variable.name, variable.value);
        with_environment_defaults(variables, call);
    });
    if (!code) call();
    return {*code, InfoPtr(list)};
}

/// Interfaces that the user named in the provider's own variables. The first provider has had two
/// names, and the one that reads the other name would not follow (FI_NET_IFACE is read on 1.17
/// only).
std::string named_interfaces() {
    for (const char* name : {"FI_TCP_IFACE", "FI_NET_IFACE"})
        if (const auto value = environment_value(name); value && !value->empty())
            return "=" + *value;
    return {};
}

SelectionRules rules_from(const Settings& settings) {
    SelectionRules rules;
    rules.interfaces = InterfaceFilter(settings.exclude_tcp_if, named_interfaces());
    rules.use_ipv6 = settings.use_ipv6_tcp;
    rules.ofi_provider = settings.ofi_provider;
    rules.fi_provider = settings.fi_provider;
    rules.libfabric_version = fi_version();
    // A single name is libfabric's to resolve ("tcp" is also the layer above it); a list is ours.
    rules.filter_by_name = settings.ofi_provider.find_first_of("^,") != std::string::npos;
    return rules;
}

/// What one question to libfabric led to.
struct Round {
    Answer answer;
    std::vector<const fi_info*> entries;
    std::vector<Candidate> candidates;
    Selection selection;
};

Round run_round(const Requirements& needs, const SelectionRules& rules, bool with_wanted,
                const topology::Sysfs& sysfs) {
    Round round;
    const std::string& named = rules.ofi_provider.empty() ? rules.fi_provider : rules.ofi_provider;
    round.answer = ask(needs, rules.filter_by_name ? std::string() : rules.ofi_provider, with_wanted,
                       variables_for(named, rules.libfabric_version));
    if (round.answer.code != 0) return round;
    for (const fi_info* entry = round.answer.list.get(); entry != nullptr; entry = entry->next) {
        round.entries.push_back(entry);
        round.candidates.push_back(candidate_from(*entry, sysfs));
        round.candidates.back().unmet = why_refused(*entry, needs);
    }
    round.selection = select(round.candidates, rules);
    return round;
}

std::vector<Refusal> refusals_of(const Round& round) {
    std::vector<Refusal> refusals;
    std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
    for (std::size_t i = 0; i < round.candidates.size(); ++i) {
        const Candidate& entry = round.candidates[i];
        const std::string& reason = round.selection.reasons[i];
        if (reason.empty()) continue;
        if (seen.emplace(entry.provider, entry.domain, entry.address, reason).second)
            refusals.push_back({entry.provider, entry.domain, entry.address, reason});
    }
    return refusals;
}

/// One line per interface of the chosen provider, one line per other provider. `provider` empty:
/// none chosen.
void log_refusals(const std::vector<Refusal>& refusals, const std::string& provider,
                  bool as_warning) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const Refusal& refusal : refusals) {
        const bool interface_matters = provider.empty() || refusal.provider == provider;
        if (interface_matters && !refusal.address.empty()) {
            if (seen.emplace(refusal.domain + refusal.address, refusal.reason).second)
                report(as_warning, messages::kEntryLeftOut, refusal.domain, refusal.address,
                       refusal.reason);
        } else if (seen.emplace(refusal.provider, refusal.reason).second) {
            report(as_warning, messages::kProviderLeftOut, refusal.provider, refusal.reason);
        }
    }
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text.empty() ? "none" : text;
}

std::set<std::string> providers_without_filter(const Requirements& needs) {
    std::set<std::string> names;
    const Answer answer = ask(needs, {}, false);
    for (const fi_info* entry = answer.list.get(); entry != nullptr; entry = entry->next)
        if (entry->fabric_attr != nullptr && entry->fabric_attr->prov_name != nullptr)
            names.insert(entry->fabric_attr->prov_name);
    return names;
}

/// Nothing was found: says so, with the reasons, the filters and what there would have been (A4,
/// A21).
Error explain_nothing(const Settings& settings, const Requirements& needs, const Round& round,
                      const SelectionRules& rules) {
    const bool loud = settings.named_by_user();
    const auto shown = [](const std::string& text) {
        return text.empty() ? std::string("(unset)") : text;
    };
    report(loud, messages::kNoEligibleProviders);
    if (round.answer.code == 0)
        log_refusals(refusals_of(round), {}, loud);
    else if (round.answer.code != -FI_ENODATA)
        report(loud, messages::kDiscoveryFailed, "fi_getinfo", -round.answer.code,
               error_text(round.answer.code));
    report(loud, messages::kFiltersInForce, shown(settings.ofi_provider),
           shown(settings.fi_provider), rules.interfaces.describe(), settings.use_ipv6_tcp ? 1 : 0);
    report(loud, messages::kOfferedWithoutFilters, joined(providers_without_filter(needs)));
    if (round.answer.code == -FI_ENOMEM) return error_from(round.answer.code, "fi_getinfo");
    return Error{Errc::no_data, FI_ENODATA, "fi_getinfo"};
}

Status add_devices(const Round& round, int copies, const topology::Sysfs& sysfs, DeviceList& list) {
    std::vector<std::string> taken;
    for (const std::size_t index : round.selection.chosen) {
        DUOFI_ASSIGN(const DeviceInfo device,
                     describe_device(*round.entries[index], list.libfabric_version, sysfs));
        for (int copy = 0; copy < copies; ++copy) {
            list.devices.push_back(device);
            list.devices.back().name = device_name(device.domain_name, copy, taken);
            taken.push_back(list.devices.back().name);
        }
    }
    return {};
}

void log_choice(const DeviceList& list, const Selection& selection, const SelectionRules& rules) {
    constexpr unsigned long kWhere = log::init | log::net;
    log::info(kWhere, messages::kSelectedProvider, list.provider, list.fabric, list.devices.size());
    for (const DeviceInfo& device : list.devices)
        log::info(kWhere, messages::kDeviceKept, device.name, device.domain_name, device.address,
                  device.speed_mbps, device.pci_path.value_or("none"));
    if (selection.loopback_only)
        rules.interfaces.of_user() ? log::warn(kWhere, messages::kLoopbackOnly) : log::info(kWhere, messages::kLoopbackOnly);
    if (selection.default_list_overruled)
        log::info(kWhere, messages::kDefaultListOverruled, rules.interfaces.describe());
    log_refusals(list.refusals, list.provider, false);
}

}  // namespace

Result<DeviceList> discover(const Settings& settings, const Requirements& needs) {
    return discover(settings, needs, topology::Sysfs());
}

Result<DeviceList> discover(const Settings& settings, const Requirements& needs,
                            const topology::Platform& platform) {
    DUOFI_ASSIGN(DeviceList list, discover(topology::effective_settings(settings, platform, efa_name()), needs));
    if (platform.speed_override_mbps > 0)
        for (DeviceInfo& device : list.devices) device.speed_mbps = platform.speed_override_mbps;
    return list;
}

Result<DeviceList> discover(const Settings& settings, const Requirements& needs,
                            const topology::Sysfs& sysfs) {
    const SignalGuard guard;
    const SelectionRules rules = rules_from(settings);
    Round round = run_round(needs, rules, true, sysfs);
    if (round.selection.chosen.empty() && needs.wanted_caps != 0)
        round = run_round(needs, rules, false, sysfs);
    if (round.selection.chosen.empty())
        return tl::unexpected(explain_nothing(settings, needs, round, rules));

    DeviceList list;
    list.libfabric_version = rules.libfabric_version;
    list.api_version = effective_api_version(needs);
    list.refusals = refusals_of(round);
    const Candidate& first = round.candidates[round.selection.chosen.front()];
    list.provider = first.provider;
    list.fabric = first.fabric;
    if (!efa_version_ok(first.provider, rules.libfabric_version)) {
        report(settings.named_by_user(), messages::kEfaTooOld);
        return fail(Errc::unsupported, "libfabric version", FI_EOPNOTSUPP);
    }
    DUOFI_TRY(add_devices(round, std::max(1, settings.nic_dup_conns), sysfs, list));
    log_choice(list, round.selection, rules);
    return list;
}

std::string likely_provider(const Settings& settings, const Requirements& needs) {
    const SignalGuard guard;
    const Round round = run_round(needs, rules_from(settings), true, topology::Sysfs());
    const auto& chosen = round.selection.chosen;
    return chosen.empty() ? std::string() : round.candidates[chosen.front()].provider;
}

Result<InfoPtr> info_for(const DeviceInfo& device, const Requirements& needs) {
    const SignalGuard guard;
    const topology::Sysfs sysfs;
    for (const bool with_wanted : {true, false}) {
        const Answer answer = ask(needs, device.provider, with_wanted);
        if (answer.code == -FI_ENOMEM) return tl::unexpected(error_from(answer.code, "fi_getinfo"));
        for (const fi_info* entry = answer.list.get(); entry != nullptr; entry = entry->next) {
            const Candidate offered = candidate_from(*entry, sysfs);
            if (offered.provider != device.provider || offered.domain != device.domain_name ||
                offered.fabric != device.fabric_name || offered.address != device.address ||
                !why_refused(*entry, needs).empty())
                continue;
            InfoPtr copy = duplicate(entry);
            if (!copy) return fail(Errc::no_memory, "fi_dupinfo", FI_ENOMEM);
            return copy;
        }
        if (needs.wanted_caps == 0) break;
    }
    return fail(Errc::no_data, "fi_getinfo", FI_ENODATA);
}

}  // namespace duofi::ofi
