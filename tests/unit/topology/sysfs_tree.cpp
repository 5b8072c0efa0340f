#include "tests/unit/topology/sysfs_tree.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace duofi::test {

namespace fs = std::filesystem;

SysfsTree::SysfsTree() {
    std::string pattern = (fs::temp_directory_path() / "duofi-sysfs-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root_ = pattern;
}

SysfsTree::~SysfsTree() {
    std::error_code error;
    fs::remove_all(root_, error);
}

fs::path SysfsTree::under(std::string_view path) const {
    return root_ / path.substr(path.find_first_not_of('/'));
}

void SysfsTree::add_directory(std::string_view path) const {
    fs::create_directories(under(path));
}

void SysfsTree::add_file(std::string_view path, std::string_view text) const {
    fs::create_directories(under(path).parent_path());
    std::ofstream(under(path)) << text;
}

void SysfsTree::add_link(std::string_view path, std::string_view target) const {
    const fs::path link = under(path);
    fs::create_directories(link.parent_path());
    fs::create_symlink(under(target).lexically_relative(link.parent_path()), link);
}

void SysfsTree::add_pci_device(const std::string& directory) const {
    add_directory(directory);
    add_directory("/sys/bus/pci/devices");
    add_link(directory + "/subsystem", "/sys/bus/pci");
    add_link("/sys/bus/pci/devices/" + fs::path(directory).filename().string(), directory);
}

void SysfsTree::add_interface(const std::string& directory, int index) const {
    add_file(directory + "/ifindex", std::to_string(index) + "\n");
    add_link("/sys/class/net/" + fs::path(directory).filename().string(), directory);
}

}  // namespace duofi::test
