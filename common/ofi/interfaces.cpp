#include "common/ofi/interfaces.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/util/parse.hpp"

namespace duofi::ofi {
namespace {

/// Container, virtual machine and overlay interfaces that reach no other node (A7).
constexpr std::string_view kDefaultExcludes = "docker,br-,virbr,veth,cni,tailscale";

}  // namespace

InterfaceNames InterfaceNames::parse(std::string_view list) {
    InterfaceNames result;
    list = trimmed(list);
    bool all_exact = false;
    if (!list.empty() && list.front() == '=') {
        all_exact = true;
        list.remove_prefix(1);
    }
    while (!list.empty()) {
        const auto comma = list.find(',');
        std::string_view name = trimmed(list.substr(0, comma));
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
        const bool exact = !name.empty() && name.front() == '=';
        if (exact) name.remove_prefix(1);
        if (!name.empty()) result.names_.push_back({std::string(name), exact || all_exact});
    }
    return result;
}

bool InterfaceNames::matches(std::string_view interface) const noexcept {
    return std::any_of(names_.begin(), names_.end(), [&](const Name& name) {
        return name.exact ? interface == name.text
                          : interface.substr(0, name.text.size()) == name.text;
    });
}

std::string InterfaceNames::text() const {
    std::string text;
    for (const Name& name : names_) {
        if (!text.empty()) text += ',';
        if (name.exact) text += '=';
        text += name.text;
    }
    return text;
}

InterfaceFilter::InterfaceFilter(const std::optional<std::string>& exclude,
                                 std::string_view include)
    : include_(InterfaceNames::parse(include)), default_list_(!exclude) {
    std::string_view list = exclude ? std::string_view(*exclude) : kDefaultExcludes;
    list = trimmed(list);
    if (!list.empty() && list.front() == '^') list.remove_prefix(1);
    exclude_ = InterfaceNames::parse(list);
}

bool InterfaceFilter::named(std::string_view interface) const noexcept {
    return include_.matches(interface);
}

Verdict InterfaceFilter::judge(std::string_view interface, bool loopback) const noexcept {
    if (!include_.empty()) return named(interface) ? Verdict::use : Verdict::refused;
    if (exclude_.matches(interface)) return default_list_ ? Verdict::last_resort : Verdict::refused;
    return loopback ? Verdict::only_if_alone : Verdict::use;
}

std::string InterfaceFilter::reason(std::string_view interface, bool loopback) const {
    switch (judge(interface, loopback)) {
        case Verdict::use:
            return {};
        case Verdict::only_if_alone:
            return "loopback is used only when no other interface is left";
        case Verdict::last_resort:
            return "interface name is in the default list of OFI_NCCL_EXCLUDE_TCP_IF";
        case Verdict::refused:
            break;
    }
    return include_.empty() ? "interface name is in OFI_NCCL_EXCLUDE_TCP_IF"
                            : "interface is not the one named in FI_TCP_IFACE or FI_NET_IFACE";
}

std::string InterfaceFilter::describe() const {
    if (!include_.empty()) {
        std::string names = include_.text();
        if (names.front() == '=') names.erase(0, 1);  // the variables always give whole names
        return "FI_TCP_IFACE/FI_NET_IFACE=" + names;
    }
    return fmt::format("OFI_NCCL_EXCLUDE_TCP_IF={}{}", exclude_.text(),
                       default_list_ ? " (default)" : "");
}

}  // namespace duofi::ofi
