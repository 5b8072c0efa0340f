#include "sim_fabric/faults.hpp"

#include <rdma/fi_errno.h>

#include "common/util/parse.hpp"

namespace duofi::sim {
namespace {

constexpr std::array<std::string_view, kSites> kSiteNames{
    "getinfo", "fabric", "domain", "av_open", "cq_open", "endpoint", "ep_bind", "enable", "getname", "getopt",
    "setopt", "av_insert", "mr_reg", "mr_bind", "mr_enable", "send", "recv", "tsend", "trecv", "write", "read",
    "atomic", "cancel", "cq_read", "sent", "received", "written", "read_done", "atomic_done", "remote_write"};
static_assert(!kSiteNames.back().empty());

// What such a call fails with in real providers: objects for want of memory, work requests and completions by the device.
int usual_error(Site site) noexcept {
    if (site < Site::getname || (site >= Site::av_insert && site <= Site::mr_enable)) return FI_ENOMEM;
    if (site == Site::getopt || site == Site::setopt) return FI_ENOPROTOOPT;
    return FI_EIO;
}

Faults g_faults;

}  // namespace

std::string_view site_name(Site site) noexcept { return kSiteNames[static_cast<std::size_t>(site)]; }

bool parse_fault(std::string_view text, FaultRule& rule) {
    rule = {};
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view name = text.substr(0, colon);
    std::string_view rest = text.substr(colon + 1);
    std::size_t site = 0;
    while (site < kSites && kSiteNames[site] != name) ++site;
    if (site == kSites && name != "any") return false;
    rule.site = static_cast<Site>(site);
    if (const std::size_t second = rest.find(':'); second != std::string_view::npos) {
        const auto error = parse_integer(rest.substr(second + 1), 1, 1000);
        if (!error) return false;
        rule.error = static_cast<int>(*error);
        rest = rest.substr(0, second);
    }
    const auto number = parse_integer(rest, 1, INT64_MAX);
    if (!number) return false;
    rule.number = static_cast<std::uint64_t>(*number);
    return true;
}

int Faults::reach(Site site) noexcept {
    const std::uint64_t number = counts_[static_cast<std::size_t>(site)].fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t total = total_.fetch_add(1, std::memory_order_relaxed) + 1;
    for (const FaultRule& rule : rules_) {
        const bool any = rule.site == Site::count;
        if (!any && rule.site != site) continue;
        if (rule.number != (any ? total : number)) continue;
        failed_.fetch_add(1, std::memory_order_relaxed);
        return rule.error != 0 ? rule.error : usual_error(site);
    }
    return 0;
}

std::uint64_t Faults::count(Site site) const noexcept {
    return counts_[static_cast<std::size_t>(site)].load(std::memory_order_relaxed);
}

std::string Faults::report() const {
    std::string text;
    for (std::size_t i = 0; i < kSites; ++i) {
        const std::uint64_t reached = count(static_cast<Site>(i));
        if (reached != 0) text += std::string(kSiteNames[i]) + ' ' + std::to_string(reached) + '\n';
    }
    text += "any " + std::to_string(total_.load(std::memory_order_relaxed)) + '\n';
    text += "failed " + std::to_string(failed_.load(std::memory_order_relaxed)) + '\n';
    return text;
}

Faults& faults() noexcept { return g_faults; }

}  // namespace duofi::sim
