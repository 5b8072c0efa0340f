#include "tools/duofi/info.hpp"

#include <fmt/core.h>
#include <link.h>
#include <rdma/fabric.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "common/ofi/discovery.hpp"
#include "common/util/version.hpp"
#include "tools/duofi/info_text.hpp"
#include "tools/duofi/net_opening.hpp"
#include "tools/duofi/report.hpp"

namespace duofi::tool {
namespace {

std::string version_text(std::uint32_t packed) {
    return fmt::format("{}.{}", FI_MAJOR(packed), FI_MINOR(packed));
}

BuildFacts build_facts() {
    return {
        kVersion, kRevision,
#if defined(__clang__)
            "clang " __clang_version__,
#else
            "gcc " __VERSION__,
#endif
            DUOFI_BUILD_TYPE, version_text(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION))
    };
}

struct Search {
    const char* part;
    std::string found;
};

/// Path of the mapped library whose file name contains `part`, "" if there is none.
std::string mapped_library(const char* part) {
    Search search{part, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& s = *static_cast<Search*>(data);
            if (!info->dlpi_name || !std::strstr(info->dlpi_name, s.part)) return 0;
            s.found = info->dlpi_name;
            return 1;
        },
        &search);
    std::error_code unresolved;
    const auto path = std::filesystem::canonical(search.found, unresolved);
    return unresolved ? search.found : path.string();
}

std::string file_hash(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return {};
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    std::vector<char> block(1 << 16);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
        for (std::streamsize i = 0; i < file.gcount(); ++i)
            hash = (hash ^ static_cast<unsigned char>(block[static_cast<std::size_t>(i)])) *
                   0x100000001b3ULL;
    return fmt::format("{:016x}", hash);
}

std::vector<std::string> exported_tables(const loader::Plugin& plugin) {
    std::vector<std::string> tables;
    const auto probe = [&](const char* stem, int newest, int oldest) {
        for (int version = newest; version >= oldest; --version) {
            const std::string symbol = fmt::format("{}{}", stem, version);
            if (plugin.symbol(symbol.c_str())) tables.push_back(symbol);
        }
    };
    probe("ncclNetPlugin_v", 12, 4);
    probe("ncclRmaPlugin_v", 16, 13);
    return tables;
}

void read_devices(const OpenNet& net, PluginFacts& facts) {
    for (int i = 0; i < net.devices; ++i) {
        ncclNetProperties_v6_t p{};
        if (net.table->getProperties(i, &p) != ncclSuccess) {
            facts.error = fmt::format("getProperties({}) failed", i);
            return;
        }
        facts.devices.push_back({p.name ? p.name : "", p.pciPath ? p.pciPath : "", p.guid,
                                 p.ptrSupport, p.speed, p.port, p.maxComms, p.maxRecvs,
                                 static_cast<double>(p.latency)});
    }
}

void describe_file(const loader::Plugin& plugin, PluginFacts& facts) {
    facts.file = plugin.library_path();
    facts.hash = file_hash(facts.file);
    facts.network_name = plugin.name();
    facts.taken_version = plugin.version();
    facts.tables = exported_tables(plugin);
}

/// Opens twice: the first time only to look, so that a plugin whose init fails is described as
/// well.
PluginFacts plugin_facts(const std::string& name) {
    PluginFacts facts;
    facts.asked = name;
    loader::NetRequest request = loader::NetRequest::from_environment();
    request.plugin = name;
    request.net.clear();
    if (const auto plugin = loader::open_net(request)) {
        describe_file(*plugin, facts);
    } else {
        facts.error = "no file of that name with a table that RCCL knows could be opened";
        return facts;
    }
    const auto net = open_and_init(name);
    if (!net) {
        facts.error = net.error();
        return facts;
    }
    read_devices(*net, facts);
    facts.protocol = net->protocol;
    facts.rails = net->rails;
    return facts;
}

std::string fingerprint(const InfoReport& report) {
    std::string line =
        fmt::format("duofi {} plugin {} libfabric {} provider {} protocol {} devices", report.build.version,
                    report.plugin.hash.empty() ? "none" : report.plugin.hash,
                    report.libraries.libfabric_version,
                    report.discovered.provider.empty() ? "none" : report.discovered.provider,
                    report.plugin.protocol.empty() ? "none" : report.plugin.protocol);
    for (const HostDevice& device : report.plugin.devices) line += " " + device.name;
    for (const std::string& rails : report.plugin.rails) line += "; " + rails;
    return line;
}

void read_settings(InfoReport& report, Settings& settings) {
    const auto loaded = load_settings();
    if (loaded)
        settings = *loaded;
    else
        report.settings_error = describe(loaded.error()) + "; the lines on stderr name the variable and what it accepts; defaults are shown";
    std::string text;
    report.settings = setting_rows(settings, [&text](const char* name) -> const char* {
        const auto value = environment_value(name);
        if (!value) return nullptr;
        text = *value;
        return text.c_str();
    });
}

InfoReport collect(const InfoOptions& options) {
    InfoReport report;
    Settings settings;
    report.build = build_facts();
    report.libraries.libfabric_version = version_text(fi_version());
    read_settings(report, settings);
    if (options.settings_only) return report;
    if (auto list = ofi::discover(settings, ofi::tagged_requirements(settings),
                                  topology::pick_platform(settings, topology::read_product_name())))
        report.discovered = std::move(*list);
    else
        report.discovery_error = describe(list.error());
    report.plugin = plugin_facts(!options.plugin.empty() ? options.plugin
                                                         : environment_value("NCCL_NET_PLUGIN").value_or(kDefaultPlugin));
    report.libraries.libfabric_file = mapped_library("libfabric.so");
    report.libraries.hwloc_file = mapped_library("libhwloc.so");
    report.fingerprint = fingerprint(report);
    return report;
}

}  // namespace

int run_info(const InfoOptions& options) {
    route_logs();
    const InfoReport report = collect(options);
    if (options.json)
        print_result(info_json(report));
    else
        print_result(options.settings_only ? settings_text(report) : info_text(report));
    return report.plugin.error.empty() && report.settings_error.empty() ? kOk : kFailedCheck;
}

}  // namespace duofi::tool
