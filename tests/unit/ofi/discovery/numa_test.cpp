// The NUMA node of a card where the kernel does not tell it: hwloc's picture of the machine does. It is loaded once
// per process, so each test runs in a child.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "common/ofi/device_list.hpp"
#include "tests/support/scoped_env.hpp"
#include "tests/unit/ofi/discovery/child_process.hpp"
#include "tests/unit/topology/two_nodes.hpp"

namespace duofi::test {
namespace {

namespace fs = std::filesystem;
using topology::PciAddress;

/// A PCI device of this machine for which the kernel says "unknown" (-1), as on most virtual machines.
std::optional<PciAddress> card_without_node() {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/sys/bus/pci/devices", none)) {
        const auto node = topology::Sysfs().number(entry.path().string() + "/numa_node");
        if (node == -1) return PciAddress::parse(entry.path().filename().string());
    }
    return std::nullopt;
}

/// Of the NIC's own functions libfabric asks for a copy only; a copied fi_info may be without one.
int refuse_copy(fid*, int, void* copy) {
    *static_cast<fid**>(copy) = nullptr;
    return -FI_ENOSYS;
}

/// What describe_device says of the node of a NIC at this address. `root` stands for "/".
int described_node(const PciAddress& address, const fs::path& root) {
    fi_bus_attr bus{};
    bus.bus_type = FI_BUS_PCI;
    bus.attr.pci = {static_cast<std::uint16_t>(address.domain), address.bus, address.device, address.function};
    fi_device_attr device{};
    fi_link_attr link{};
    fi_ops operations{};
    operations.size = sizeof(operations);
    operations.control = refuse_copy;
    fid_nic nic{};
    nic.fid.fclass = FI_CLASS_NIC;
    nic.fid.ops = &operations;
    nic.device_attr = &device;
    nic.bus_attr = &bus;
    nic.link_attr = &link;
    fi_fabric_attr fabric{};
    fi_domain_attr domain{};
    fi_info info{};
    info.fabric_attr = &fabric;
    info.domain_attr = &domain;
    info.nic = &nic;
    const auto described = ofi::describe_device(info, fi_version(), topology::Sysfs(root));
    if (!described) throw std::runtime_error("not described");
    if (!described->pci_path) throw std::runtime_error("no PCI path");
    return described->numa_node;
}

class NumaNode : public testing::Test {
  protected:
    void SetUp() override {
        card_ = card_without_node();
        if (!card_) GTEST_SKIP() << "no PCI device here, or the kernel knows the node of each";
        file_ = fs::temp_directory_path() / fmt::format("duofi-numa-{}.xml", ::getpid());
        std::ofstream(file_) << two_node_topology("0000:ff:1f.7", card_->text());
    }
    void TearDown() override {
        std::error_code none;
        fs::remove(file_, none);
    }
    /// In a process whose hwloc believes in the machine of the file.
    std::string node_in_child(const fs::path& root = "/") {
        const ChildResult result = run_in_child([&] {
            const ScopedEnv machine("HWLOC_XMLFILE", file_.string());
            return std::to_string(described_node(*card_, root));
        });
        EXPECT_TRUE(result.ok) << result.text;
        return result.text;
    }
    std::optional<PciAddress> card_;
    fs::path file_;
};

TEST_F(NumaNode, ComesFromHwlocWhereTheKernelDoesNotTell) {
    EXPECT_EQ(node_in_child(), "1");
}

TEST_F(NumaNode, IsUnknownWhereHwlocDoesNotKnowTheCard) {
    std::ofstream(file_) << two_node_topology("0000:ff:1f.6", "0000:ff:1f.7");
    EXPECT_EQ(node_in_child(), "-1");
}

TEST_F(NumaNode, OfAnotherRootIsNotAskedOfThisMachine) {
    const fs::path root = fs::temp_directory_path() / fmt::format("duofi-numa-root-{}", ::getpid());
    const fs::path device = "sys/devices/pci0000:00/" + card_->text();
    fs::create_directories(root / device);
    fs::create_directories(root / "sys/bus/pci/devices");
    fs::create_symlink(root / device, root / "sys/bus/pci/devices" / card_->text());
    std::ofstream(root / device / "numa_node") << "-1\n";
    EXPECT_EQ(node_in_child(root), "-1");
    std::ofstream(root / device / "numa_node") << "3\n";
    EXPECT_EQ(node_in_child(root), "3") << "what the kernel says goes first";
    fs::remove_all(root);
}

}  // namespace
}  // namespace duofi::test
