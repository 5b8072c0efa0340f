#include "tests/unit/p2p/gate/hwloc_file.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <fstream>
#include <stdexcept>

namespace duofi::p2p::test {

std::string HwlocFile::card(const std::string& address, const std::string& kind) {
    return fmt::format(
        "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"{}\" pci_type=\"{} [10de:20b0] [10de:0000] 00\" "
        "pci_link_speed=\"16.000000\"/>\n",
        number(), address, kind);
}

std::string HwlocFile::bridge(const std::string& address, const std::string& below) {
    return fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"1-1\" depth=\"{}\" "
        "bridge_pci=\"0000:[01-fe]\" pci_busid=\"{}\" pci_type=\"0604 [8086:0001] [0000:0000] 00\" "
        "pci_link_speed=\"16.000000\">\n{}</object>\n",
        number(), ++depth_, address, below);
}

std::string HwlocFile::pci_switch(const std::string& bus, const std::vector<std::string>& below) {
    std::string ports;
    for (std::size_t i = 0; i < below.size(); ++i)
        ports += bridge(fmt::format("0000:{}:{:02x}.0", bus, i + 1), below[i]);
    return bridge(fmt::format("0000:{}:00.0", bus), ports);
}

std::string HwlocFile::host(const std::string& below) {
    return fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"0-1\" depth=\"0\" "
        "bridge_pci=\"0000:[00-ff]\">\n{}</object>\n",
        number(), below);
}

std::string HwlocFile::package(int index, const std::string& below) {
    const std::string set = fmt::format(
        "cpuset=\"0x{0:x}\" complete_cpuset=\"0x{0:x}\" nodeset=\"0x{0:x}\" complete_nodeset=\"0x{0:x}\"",
        1 << index);
    return fmt::format(
        "<object type=\"Package\" os_index=\"{0}\" {1} gp_index=\"{2}\">\n"
        "<info name=\"CPUVendor\" value=\"AuthenticAMD\"/>\n"
        "<object type=\"NUMANode\" os_index=\"{0}\" {1} gp_index=\"{3}\" local_memory=\"1073741824\"/>\n"
        "<object type=\"Core\" os_index=\"{0}\" {1} gp_index=\"{4}\">\n"
        "<object type=\"PU\" os_index=\"{0}\" {1} gp_index=\"{5}\"/></object>\n{6}</object>\n",
        index, set, number(), number(), number(), number(), below);
}

std::string HwlocFile::machine(const std::vector<std::string>& packages, const std::string& top) {
    std::string below;
    for (std::size_t i = 0; i < packages.size(); ++i)
        below += package(static_cast<int>(i), packages[i]);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">\n"
        "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x{0:x}\" complete_cpuset=\"0x{0:x}\" "
        "allowed_cpuset=\"0x{0:x}\" nodeset=\"0x{0:x}\" complete_nodeset=\"0x{0:x}\" "
        "allowed_nodeset=\"0x{0:x}\" gp_index=\"1\">\n{1}{2}</object>\n</topology>\n",
        (1 << packages.size()) - 1, below, top);
}

TextFile::TextFile(const std::string& text, const std::string& name) : name_(name) {
    std::string pattern = (std::filesystem::temp_directory_path() / "duofi-gate-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    std::ofstream(path()) << text;
}

TextFile::~TextFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

}  // namespace duofi::p2p::test
