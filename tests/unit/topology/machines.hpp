// Machines with PCI trees, from files and made up.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/topology/machine.hpp"

namespace duofi::test {

/// A file of the folder "machines".
[[nodiscard]] inline std::string machine_file(const std::string& name) {
    return std::string(DUOFI_MACHINES) + "/" + name;
}

[[nodiscard]] inline std::string text_of(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

[[nodiscard]] inline topology::IoTree machine_tree(const std::string& name) {
    const auto machine = topology::Machine::from_xml(machine_file(name + ".xml"), topology::IoKeep::all);
    EXPECT_TRUE(machine) << name;
    return machine ? machine->io_tree() : topology::IoTree{};
}

/// Addresses of all network cards, in the order of the tree.
[[nodiscard]] inline std::vector<topology::PciAddress> nics_of(const topology::IoTree& tree) {
    std::vector<topology::PciAddress> nics;
    for (const topology::IoObject& object : tree.objects)
        if (object.pci_class >> 8 == 0x02) nics.push_back(object.address);
    return nics;
}

/// A tree made by hand. Each call gives the index of what it added.
struct MadeTree {
    topology::IoTree tree;

    int host(std::vector<int> nodes = {0}) {
        topology::IoObject object;
        object.kind = topology::IoObject::Kind::host_bridge;
        object.numa_nodes = std::move(nodes);
        return add(object);
    }
    int bridge(int parent, const char* address) {
        topology::IoObject object = at(parent, address);
        object.kind = topology::IoObject::Kind::bridge;
        object.pci_class = 0x0604;
        return add(object);
    }
    int nic(int parent, const char* address) { return card(parent, address, 0x0200, 0x15b3); }
    int gpu(int parent, const char* address) { return card(parent, address, 0x0302, 0x10de); }
    int card(int parent, const char* address, std::uint16_t pci_class, std::uint16_t vendor) {
        topology::IoObject object = at(parent, address);
        object.pci_class = pci_class;
        object.vendor = vendor;
        return add(object);
    }
    topology::IoObject& operator[](int index) { return tree.objects.at(static_cast<std::size_t>(index)); }

  private:
    static topology::IoObject at(int parent, const char* address) {
        topology::IoObject object;
        object.parent = parent;
        object.address = topology::PciAddress::parse(address).value();
        return object;
    }
    int add(const topology::IoObject& object) {
        tree.objects.push_back(object);
        return static_cast<int>(tree.objects.size()) - 1;
    }
};

}  // namespace duofi::test
