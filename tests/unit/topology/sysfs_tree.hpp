// A directory that looks like "/" to topology code, removed at the end of the test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "common/topology/sysfs.hpp"

namespace duofi::test {

class SysfsTree {
  public:
    SysfsTree();
    ~SysfsTree();
    SysfsTree(const SysfsTree&) = delete;
    SysfsTree& operator=(const SysfsTree&) = delete;

    void add_file(std::string_view path, std::string_view text) const;
    void add_directory(std::string_view path) const;
    /// A relative link, as the kernel makes them: both paths as seen from the tree's root.
    void add_link(std::string_view path, std::string_view target) const;
    /// A PCI device directory with its subsystem link, and its entry in the bus list.
    void add_pci_device(const std::string& directory) const;
    /// An interface that lives in `directory`, listed in /sys/class/net.
    void add_interface(const std::string& directory, int index) const;

    [[nodiscard]] topology::Sysfs sysfs() const { return topology::Sysfs(root_); }
    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  private:
    [[nodiscard]] std::filesystem::path under(std::string_view path) const;
    std::filesystem::path root_;
};

}  // namespace duofi::test
