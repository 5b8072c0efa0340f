#include "common/topology/platform.hpp"

#include <fstream>

#include "common/util/log.hpp"
#include "common/util/messages/net_init.hpp"
#include "common/util/parse.hpp"

namespace duofi::topology {

namespace {

constexpr unsigned long kWhere = log::init | log::net;
constexpr const char* kProductNameFile = "/sys/devices/virtual/dmi/id/product_name";

/// Its driver tells a wrong link speed; net contract 6.4 gives the real one.
constexpr const char* kSlowReportingType = "p5en.48xlarge";
constexpr int kSlowReportingMbps = 200'000;

}  // namespace

std::string_view name_of(const Platform& platform) noexcept {
    return platform.aws ? "AWS" : "Default";
}

std::string read_product_name(const std::string& root) {
    std::ifstream file(root + kProductNameFile);
    std::string line;
    if (!std::getline(file, line)) return {};
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    return line;
}

Platform pick_platform(const Settings& settings, const std::string& dmi_product_name) {
    Platform out;
    out.product_name =
        settings.force_product_name.empty() ? dmi_product_name : settings.force_product_name;
    const PlatformRow* row = nullptr;
    if (!equal_ignoring_case(settings.platform, "Default")) {
        row = find_platform_row(out.product_name);
        out.aws = row != nullptr || equal_ignoring_case(settings.platform, "AWS");
    }
    if (row != nullptr) {
        out.protocol = row->protocol;
        out.latency_us = row->latency_us;
        out.gdr_required = row->gdr_required;
        out.nic_dup_conns = row->nic_dup_conns;
        out.domain_per_thread = row->domain_per_thread;
        out.has_topology_file = row->has_topology_file;
        out.environment = row->environment;
    }
    if (settings.net_latency_us != 0.0) out.latency_us = settings.net_latency_us;
    if (settings.nic_dup_conns != 0) out.nic_dup_conns = settings.nic_dup_conns;
    if (settings.domain_per_thread) out.domain_per_thread = *settings.domain_per_thread;
    out.filter_efa = out.aws && settings.fi_provider.empty() && settings.ofi_provider.empty();
    if (out.aws && out.product_name == kSlowReportingType)
        out.speed_override_mbps = kSlowReportingMbps;
    return out;
}

Settings effective_settings(const Settings& settings, const Platform& platform,
                            std::string_view efa_name) {
    Settings out = settings;
    out.nic_dup_conns = platform.nic_dup_conns;
    out.net_latency_us = platform.latency_us;
    out.domain_per_thread = platform.domain_per_thread;
    if (platform.filter_efa) out.ofi_provider = efa_name;
    return out;
}

void log_platform(const Platform& platform, std::string_view efa_name) {
    log::info(kWhere, messages::kPlatform, name_of(platform));
    if (!platform.aws) return;
    log::info(kWhere, messages::kAwsOptions);
    if (platform.filter_efa) log::info(kWhere, messages::kProviderFilter, efa_name);
    log::info(kWhere, messages::kLatency, platform.latency_us);
    if (platform.has_topology_file)
        log::info(kWhere, messages::kTopologyFileNotWritten, platform.product_name);
}

}  // namespace duofi::topology
