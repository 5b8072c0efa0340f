#include "tests/unit/ofi/discovery/discovery_report.hpp"

#include <fmt/core.h>

#include <mutex>
#include <sstream>

#include "common/ofi/discovery.hpp"
#include "common/util/log.hpp"

namespace duofi::test {
namespace {

std::string line_of(const ofi::DeviceInfo& device) {
    return fmt::format("device {} {} {} {} {:x} {}\n", device.name, device.provider, device.address,
                       device.pci_path.value_or("-"), device.guid, device.speed_mbps);
}

}  // namespace

std::string discovery_report(const Settings& settings) {
    std::mutex guard;
    std::string logged;
    log::set_threshold(log::Level::info);
    log::set_sink([&](log::Level level, unsigned long, const char*, int, const char* text) {
        const std::scoped_lock lock(guard);
        logged += fmt::format("{} {}\n", level == log::Level::warn ? "warn" : "info", text);
    });
    const auto found = ofi::discover(settings, ofi::tagged_requirements(settings));
    log::set_sink({});

    std::string report;
    if (!found)
        report = fmt::format("error {} {}\n", to_string(found.error().code),
                             found.error().provider_errno);
    else
        for (const ofi::DeviceInfo& device : found->devices) report += line_of(device);
    return report + logged;
}

std::vector<std::string> lines_of(const std::string& report, std::string_view key) {
    std::vector<std::string> lines;
    std::istringstream in(report);
    const std::string start = std::string(key) + " ";
    for (std::string line; std::getline(in, line);)
        if (line.rfind(start, 0) == 0) lines.push_back(line.substr(start.size()));
    return lines;
}

std::vector<std::string> device_names(const std::string& report) {
    std::vector<std::string> names = lines_of(report, "device");
    for (std::string& name : names) name.resize(name.find(' '));
    return names;
}

bool has_line(const std::string& report, std::string_view key, std::string_view part) {
    for (const std::string& line : lines_of(report, key))
        if (line.find(part) != std::string::npos) return true;
    return false;
}

}  // namespace duofi::test
