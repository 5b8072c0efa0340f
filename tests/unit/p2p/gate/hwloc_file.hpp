// Machines with PCI trees as hwloc saves them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace duofi::p2p::test {

/// Writes the parts of a saved topology; every object gets a number of its own.
class HwlocFile {
  public:
    /// A GPU, or another card by class ("0200" is a NIC).
    [[nodiscard]] std::string card(const std::string& address, const std::string& kind = "0302");
    /// A bridge with what is below it.
    [[nodiscard]] std::string bridge(const std::string& address, const std::string& below);
    /// A switch: a port upstream and one port downstream for each part below it, with addresses made
    /// from the bus number ("17").
    [[nodiscard]] std::string pci_switch(const std::string& bus, const std::vector<std::string>& below);
    /// A host bridge.
    [[nodiscard]] std::string host(const std::string& below);
    /// The whole file: one package with one NUMA node and one core for each part, which hangs on that
    /// package; `top` hangs on the machine itself.
    [[nodiscard]] std::string machine(const std::vector<std::string>& packages, const std::string& top = "");

  private:
    [[nodiscard]] std::string number() { return std::to_string(++objects_); }
    [[nodiscard]] std::string package(int index, const std::string& below);
    int objects_ = 1;
    int depth_ = 1;
};

/// A file that is removed at the end of the test.
class TextFile {
  public:
    explicit TextFile(const std::string& text, const std::string& name = "machine.xml");
    ~TextFile();
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    [[nodiscard]] std::string path() const { return (folder_ / name_).string(); }

  private:
    std::filesystem::path folder_;
    std::string name_;
};

}  // namespace duofi::p2p::test
