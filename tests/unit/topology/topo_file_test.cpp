// Net contract 6.1 and 6.2 on machines from files: NAME.xml is what hwloc saves, NAME.golden what we make of it.
// Units: common/topology/topo_file.
#include "common/topology/topo_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "common/topology/nic_groups.hpp"
#include "tests/unit/topology/machines.hpp"
#include "tests/unit/topology/sysfs_tree.hpp"

namespace duofi::topology {
namespace {

using test::MadeTree;

std::vector<RailGroup> rail_groups(const IoTree& tree) {
    const std::vector<PciAddress> nics = test::nics_of(tree);
    std::vector<RailGroup> found;
    const auto groups = group_nics(tree, nics, {});
    EXPECT_TRUE(groups);
    if (!groups) return found;
    for (const auto& group : *groups) {
        found.emplace_back();
        for (const std::size_t nic : group) found.back().nics.push_back(nics[nic]);
    }
    return found;
}

std::string link_text(const PciLink& link) {
    return std::string(link.speed) + " x " + std::to_string(link.lanes);
}

class MachineFile : public testing::TestWithParam<const char*> {};

TEST_P(MachineFile, MakesTheGoldenText) {
    const std::string name = GetParam();
    const IoTree tree = test::machine_tree(name);
    const std::vector<RailGroup> groups = rail_groups(tree);
    std::string made;
    for (const RailGroup& group : groups) {
        for (const PciAddress& nic : group.nics) made += (nic == group.nics.front() ? "" : " ") + nic.text();
        made += ": " + link_text(group_link(tree, group)) + "\n";
    }
    made += topo_file_text(tree, groups, 0x1234567890abcdef);
    EXPECT_EQ(made, test::text_of(test::machine_file(name + ".golden"))) << name;
}

INSTANTIATE_TEST_SUITE_P(Machines, MachineFile,
                         testing::Values("single_switch", "cascaded_switches", "two_sockets", "four_nics_per_switch",
                                         "no_pci"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MachineFile, AllOfThemAreTested) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::machine_file("")))
        if (entry.path().extension() == ".golden") ++files;
    EXPECT_EQ(files, 5);
}

/// Two NICs and a GPU on one root bridge each, with links as set.
struct Pair {
    MadeTree made;
    int host, first, second, gpu;
    Pair() {
        host = made.host();
        first = made.nic(host, "01:00.0");
        second = made.nic(host, "02:00.0");
        gpu = made.gpu(host, "03:00.0");
    }
    void set(int index, double speed, int width) {
        made[index].link_speed = speed;
        made[index].link_width = width;
    }
    [[nodiscard]] std::string link() const {
        return link_text(group_link(made.tree, {{made.tree.objects[1].address, made.tree.objects[2].address}}));
    }
};

TEST(GroupLink, UnknownPartsHaveUsualValues) {
    Pair pair;
    EXPECT_EQ(pair.link(), "16.0 GT/s PCIe x 16") << "twice 8 lanes of 16 GT/s";
    pair.set(pair.first, 8.0, 0);
    pair.set(pair.second, 0, 4);
    EXPECT_EQ(pair.link(), "8.0 GT/s PCIe x 16") << "8 lanes of 8 and 4 lanes of 16 GT/s";
    pair.set(pair.first, 12.5, 8);
    EXPECT_EQ(pair.link(), "16.0 GT/s PCIe x 12") << "a speed that no generation has";
}

TEST(GroupLink, IsTheSum) {
    Pair pair;
    pair.set(pair.first, 2.5, 1);
    pair.set(pair.second, 2.5, 1);
    EXPECT_EQ(pair.link(), "2.5 GT/s PCIe x 2");
    pair.set(pair.second, 8.0, 8);
    EXPECT_EQ(pair.link(), "2.5 GT/s PCIe x 33") << "no faster lanes add up to that";
    pair.set(pair.first, 64.0, 16);
    pair.set(pair.second, 64.0, 16);
    EXPECT_EQ(pair.link(), "64.0 GT/s PCIe x 32") << "there are no faster lanes";
    pair.set(pair.first, 5.0, 8);
    pair.set(pair.second, 5.0, 4);
    EXPECT_EQ(pair.link(), "5.0 GT/s PCIe x 12");
}

TEST(GroupLink, IsAtMostTheWidestAccelerators) {
    Pair pair;
    pair.set(pair.first, 32.0, 16);
    pair.set(pair.second, 32.0, 16);
    EXPECT_EQ(pair.link(), "64.0 GT/s PCIe x 16");
    pair.set(pair.gpu, 16.0, 0);
    EXPECT_EQ(pair.link(), "64.0 GT/s PCIe x 16") << "half known is not known";
    pair.set(pair.gpu, 16.0, 16);
    EXPECT_EQ(pair.link(), "32.0 GT/s PCIe x 8") << "at the speed of the leader";
    pair.made[pair.made.gpu(pair.host, "04:00.0")].gigabytes = 63.0;
    EXPECT_EQ(pair.link(), "32.0 GT/s PCIe x 16");
}

TEST(TopoFile, GroupsThatAreNotInTheTreeAreNotWritten) {
    const Pair pair;
    EXPECT_EQ(topo_file_text(pair.made.tree, {}, 1), "");
    const std::vector<RailGroup> single{{{{0, 1, 0, 0}}}, {{{0, 2, 0, 0}}}, {}};
    EXPECT_EQ(topo_file_text(pair.made.tree, single, 1), "");
    const std::vector<RailGroup> elsewhere{{{{0, 0xee, 0, 0}, {0, 1, 0, 0}}}};
    EXPECT_EQ(topo_file_text(pair.made.tree, elsewhere, 1), "");
}

/// The number in numaid="...".
std::string node_in(const IoTree& tree) {
    const std::string text = topo_file_text(tree, std::vector<RailGroup>{{{{0, 1, 0, 0}, {0, 2, 0, 0}}}}, 1);
    const std::size_t from = text.find("numaid=\"") + 8;
    return text.substr(from, text.find('"', from) - from);
}

TEST(TopoFile, TheNodeIsTheKernels) {
    Pair pair;
    pair.made.tree.numa = {{0, "0-3"}, {1, "4-7"}};
    pair.made[pair.host].numa_nodes = {1};
    EXPECT_EQ(node_in(pair.made.tree), "1");
    pair.made[pair.host].numa_nodes = {0, 1};
    EXPECT_EQ(node_in(pair.made.tree), "-1");
    pair.made.tree.numa = {{4, "0-7"}};
    EXPECT_EQ(node_in(pair.made.tree), "4") << "the only one";
    pair.made[pair.first].kernel_node = -1;
    EXPECT_EQ(node_in(pair.made.tree), "-1") << "NCCL reads it there and must find the same";
    EXPECT_EQ(node_in(Pair().made.tree), "0");
}

TEST(TopoFile, SysfsAddsLinksToATree) {
    const test::SysfsTree sysfs;
    const std::string port = "/sys/devices/pci0000:00/0000:00:01.0", card = port + "/0000:01:00.0";
    sysfs.add_pci_device(port);
    sysfs.add_pci_device(card);
    sysfs.add_file(port + "/max_link_speed", "16.0 GT/s PCIe\n");
    sysfs.add_file(port + "/max_link_width", "16\n");
    sysfs.add_file(card + "/max_link_speed", "32.0 GT/s PCIe\n");
    sysfs.add_file(card + "/max_link_width", "8\n");
    sysfs.add_file(card + "/numa_node", "-1\n");
    Pair pair;
    add_links(sysfs.sysfs(), pair.made.tree);
    const IoObject& first = pair.made[pair.first];
    EXPECT_EQ(first.link_speed, 16.0) << "of the port";
    EXPECT_EQ(first.link_width, 8) << "of the card";
    EXPECT_EQ(first.kernel_node, -1);
    EXPECT_EQ(pair.made[pair.second].link_width, 0);
    EXPECT_FALSE(pair.made[pair.second].kernel_node);
    const IoTree read = read_io_tree(sysfs.sysfs());
    ASSERT_EQ(read.objects.size(), 3U);
    EXPECT_EQ(read.objects[2].link_speed, 16.0);
    EXPECT_EQ(read.objects[2].link_width, 8);
}

TEST(TopoFile, UnknownLinksInSysfsStayUnknown) {
    const test::SysfsTree sysfs;
    const std::string card = "/sys/devices/pci0000:00/0000:01:00.0";
    sysfs.add_pci_device(card);
    sysfs.add_file(card + "/max_link_speed", "Unknown\n");
    sysfs.add_file(card + "/max_link_width", "255\n");
    Pair pair;
    add_links(sysfs.sysfs(), pair.made.tree);
    EXPECT_EQ(pair.made[pair.first].link_speed, 0);
    EXPECT_EQ(pair.made[pair.first].link_width, 0);
}

TEST(TopoFile, CanBeReadByItsPathAsOftenAsWanted) {
    const std::string text(100'000, 'x');
    const auto file = topo_file(text);
    ASSERT_TRUE(file);
    const std::string path = "/proc/self/fd/" + std::to_string(file->get());
    EXPECT_NE(std::filesystem::read_symlink(path).string().find("duofi_topo"), std::string::npos);
    EXPECT_EQ(test::text_of(path), text);
    EXPECT_EQ(test::text_of(path), text);
    std::string first(1, ' ');
    EXPECT_EQ(::read(file->get(), first.data(), 1), 1) << "at its start";
    EXPECT_EQ(first, "x");
}

TEST(TopoFile, StaysOpenInProgramsThatThisOneStarts) {
    const auto file = topo_file("<system/>");
    ASSERT_TRUE(file);
    EXPECT_EQ(::fcntl(file->get(), F_GETFD) & FD_CLOEXEC, 0);
    const std::string command = "test \"$(cat /proc/self/fd/" + std::to_string(file->get()) + ")\" = '<system/>'";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace duofi::topology
