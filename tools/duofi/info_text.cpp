#include "tools/duofi/info_text.hpp"

#include <fmt/core.h>

#include "common/abi/host_types.h"
#include "tools/duofi/table.hpp"

namespace duofi::tool {
namespace {

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string pointer_text(int support) {
    std::string text;
    const auto add = [&](int bit, const char* name) {
        if (support & bit) text += (text.empty() ? "" : "|") + std::string(name);
    };
    add(NCCL_PTR_HOST, "host");
    add(NCCL_PTR_CUDA, "device");
    add(NCCL_PTR_DMABUF, "dmabuf");
    return or_dash(text);
}

std::string setting_table(const InfoReport& report, bool changed_only) {
    const Table table({{"name", "", 42, true},
                       {"value", "", 22, true},
                       {"source", "", 12, true},
                       {"accepted", "", 1, true}});
    std::string out = table.header();
    std::size_t shown = 0;
    for (const SettingRow& row : report.settings) {
        if (changed_only && !row.from_environment) continue;
        out += table.row({row.name, or_dash(row.value),
                          row.from_environment ? "environment" : "default", row.accepted});
        ++shown;
    }
    if (shown == 0) return "  all at their defaults; `duofi info --settings` lists them\n";
    return out;
}

std::string discovery_text(const InfoReport& report) {
    const Table devices({{"name", "", 22, true},
                         {"provider", "", 14, true},
                         {"domain", "", 14, true},
                         {"address", "", 30, true},
                         {"speed", "Mbit/s", 8},
                         {"numa", "", 5}});
    std::string out = "Devices found by libfabric\n";
    if (!report.discovery_error.empty()) out += "  none: " + report.discovery_error + "\n";
    if (!report.discovered.devices.empty()) out += devices.header();
    for (const ofi::DeviceInfo& d : report.discovered.devices)
        out += devices.row({d.name, d.provider, d.domain_name, or_dash(d.address),
                            fmt::format("{}", d.speed_mbps), fmt::format("{}", d.numa_node)});
    const Table refused({{"provider", "", 14, true},
                         {"domain", "", 14, true},
                         {"address", "", 30, true},
                         {"why not", "", 1, true}});
    if (report.discovered.refusals.empty()) return out;
    out += "\nOffered by libfabric and not used\n" + refused.header();
    for (const ofi::Refusal& r : report.discovered.refusals)
        out += refused.row({or_dash(r.provider), or_dash(r.domain), or_dash(r.address), r.reason});
    return out;
}

std::string plugin_text(const PluginFacts& plugin) {
    std::string out = fmt::format("Plugin \"{}\"\n", plugin.asked);
    if (!plugin.error.empty()) out += fmt::format("  problem     {}\n", plugin.error);
    if (plugin.file.empty()) return out;
    out += fmt::format("  file        {}\n  hash        {} (FNV-1a 64)\n  network     {}\n",
                       plugin.file, plugin.hash, plugin.network_name);
    out += fmt::format("  tables      ");
    for (const std::string& table : plugin.tables) out += table + " ";
    out += fmt::format("\n  taken       v{} by a current RCCL\n", plugin.taken_version);
    if (!plugin.protocol.empty()) out += fmt::format("  protocol    {}\n", plugin.protocol);
    if (plugin.devices.empty()) return out;
    const Table table({{"device", "", 22, true},
                       {"speed", "Mbit/s", 8},
                       {"latency", "us", 8},
                       {"memory", "", 14, true},
                       {"maxComms", "", 9},
                       {"maxRecvs", "", 9},
                       {"guid", "", 16},
                       {"pciPath", "", 1, true}});
    out += "\nDevices as a host sees them (v6 table)\n" + table.header();
    for (const HostDevice& d : plugin.devices)
        out += table.row({d.name, fmt::format("{}", d.speed_mbps),
                          fmt::format("{:g}", d.latency_us), pointer_text(d.pointer_support),
                          fmt::format("{}", d.max_comms), fmt::format("{}", d.max_recvs),
                          fmt::format("{:x}", d.guid), or_dash(d.pci_path)});
    for (const std::string& rails : plugin.rails) out += "  " + rails + "\n";
    return out;
}

}  // namespace

std::string settings_text(const InfoReport& report) {
    std::string out;
    if (!report.settings_error.empty()) out += "problem: " + report.settings_error + "\n";
    return out + setting_table(report, false);
}

std::string info_text(const InfoReport& report) {
    std::string out = fmt::format(
        "Build\n  duofi       {} (revision {})\n  compiler    {}, {}\n  libfabric   headers {}\n\n",
        report.build.version, report.build.revision, report.build.compiler, report.build.build_type,
        report.build.libfabric_headers);
    out += fmt::format("Libraries in use\n  libfabric   {} {}\n  hwloc       {}\n\n",
                       report.libraries.libfabric_version, report.libraries.libfabric_file,
                       or_dash(report.libraries.hwloc_file));
    out += "Settings changed by the environment\n";
    if (!report.settings_error.empty()) out += "  problem: " + report.settings_error + "\n";
    out += setting_table(report, true) + "\n";
    out += discovery_text(report) + "\n" + plugin_text(report.plugin) + "\n";
    return out + "Fingerprint (compare it between nodes)\n  " + report.fingerprint + "\n";
}

}  // namespace duofi::tool
