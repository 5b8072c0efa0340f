// Net contract 6.1: which NICs form a device. Machines from files are in topo_file_test.
// Units: common/topology/nic_groups, common/topology/io_places.
#include "common/topology/nic_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/topology/io_places.hpp"
#include "tests/unit/topology/machines.hpp"

namespace duofi::topology {
namespace {

using test::MadeTree;

/// "03:00.0 04:00.0 | 05:00.0": groups of a domain 0 machine, or the place of an error.
std::string groups_text(const IoTree& tree, const std::vector<PciAddress>& nics, const GroupRules& rules = {}) {
    const auto groups = group_nics(tree, nics, rules);
    if (!groups) return std::string("error: ") + groups.error().place;
    std::string text;
    for (const auto& group : *groups) {
        if (!text.empty()) text += " |";
        for (const std::size_t nic : group) text += " " + nics.at(nic).text().substr(5);
    }
    return text.empty() ? text : text.substr(text.front() == ' ' ? 1 : 0);
}

std::string groups_text(const IoTree& tree, const GroupRules& rules = {}) {
    return groups_text(tree, test::nics_of(tree), rules);
}

/// So many NICs at 01:00.0, 02:00.0, ... and GPUs at 81:00.0, ... on one host bridge.
IoTree flat_machine(int nics, int gpus) {
    MadeTree made;
    const int host = made.host();
    for (int i = 1; i <= nics; ++i) made.nic(host, ("0" + std::to_string(i) + ":00.0").c_str());
    for (int i = 1; i <= gpus; ++i) made.gpu(host, ("8" + std::to_string(i) + ":00.0").c_str());
    return made.tree;
}

TEST(NicGroups, NicsOfAPlaceAreDealtToItsAccelerators) {
    EXPECT_EQ(groups_text(flat_machine(4, 2)), "01:00.0 02:00.0 | 03:00.0 04:00.0");
    EXPECT_EQ(groups_text(flat_machine(5, 2)), "01:00.0 02:00.0 03:00.0 | 04:00.0 05:00.0");
    EXPECT_EQ(groups_text(flat_machine(2, 3)), "01:00.0 | 02:00.0") << "no empty group for the third";
    EXPECT_EQ(groups_text(flat_machine(3, 0)), "01:00.0 | 02:00.0 | 03:00.0");
    EXPECT_EQ(groups_text(flat_machine(0, 2)), "");
}

TEST(NicGroups, MoreThanFourRailsAreAnError) {
    EXPECT_EQ(groups_text(flat_machine(4, 1)), "01:00.0 02:00.0 03:00.0 04:00.0");
    const auto five = group_nics(flat_machine(5, 1), test::nics_of(flat_machine(5, 1)), {});
    ASSERT_FALSE(five);
    EXPECT_EQ(five.error().code, Errc::invalid_argument);
    EXPECT_STREQ(five.error().place, "group of more than four NICs at one accelerator");
}

TEST(NicGroups, ForcedRailsLimitEachGroup) {
    GroupRules rules;
    rules.force_rails = 1;
    EXPECT_EQ(groups_text(flat_machine(4, 1), rules), "01:00.0 | 02:00.0 | 03:00.0 | 04:00.0");
    rules.force_rails = 2;
    EXPECT_EQ(groups_text(flat_machine(4, 1), rules), "01:00.0 02:00.0 | 03:00.0 04:00.0");
    EXPECT_EQ(groups_text(flat_machine(3, 1), rules), "01:00.0 02:00.0 | 03:00.0");
    rules.force_rails = 3;
    EXPECT_EQ(groups_text(flat_machine(4, 1), rules), "01:00.0 02:00.0 | 03:00.0 04:00.0");
    EXPECT_EQ(groups_text(flat_machine(7, 1), rules), "01:00.0 02:00.0 03:00.0 | 04:00.0 05:00.0 | 06:00.0 07:00.0");
    EXPECT_EQ(groups_text(flat_machine(4, 2), rules), "01:00.0 02:00.0 | 03:00.0 04:00.0") << "never joined";
    rules.force_rails = 4;
    EXPECT_EQ(groups_text(flat_machine(5, 1), rules), "01:00.0 02:00.0 03:00.0 | 04:00.0 05:00.0")
        << "too many for one, but not when they are split";
    for (const int wrong : {-1, 5}) {
        rules.force_rails = wrong;
        EXPECT_EQ(groups_text(flat_machine(2, 1), rules), "error: number of rails per device");
    }
}

TEST(NicGroups, TheOrderOfTheListDoesNotDecideWhoIsTogether) {
    const IoTree tree = test::machine_tree("four_nics_per_switch");
    std::vector<PciAddress> nics = test::nics_of(tree);
    ASSERT_EQ(nics.size(), 8U);
    const std::string first = "13:00.0 14:00.0 15:00.0 16:00.0", second = "93:00.0 94:00.0 95:00.0 96:00.0";
    EXPECT_EQ(groups_text(tree, nics), first + " | " + second);
    std::ranges::reverse(nics);
    EXPECT_EQ(groups_text(tree, nics), second + " | " + first) << "in the order of the leaders";
    nics = {nics[3], nics[4], nics[1], nics[7], nics[2], nics[6], nics[5], nics[0]};
    EXPECT_EQ(groups_text(tree, nics), second + " | " + first);
}

TEST(NicGroups, WithoutAcceleratorsEveryNicStandsAlone) {
    GroupRules rules;
    rules.accelerators = false;
    EXPECT_EQ(groups_text(flat_machine(3, 1), rules), "01:00.0 | 02:00.0 | 03:00.0");
    rules.skip_without_accelerator = true;
    EXPECT_EQ(groups_text(flat_machine(2, 1), rules), "01:00.0 | 02:00.0") << "none is known, so none is missed";
}

TEST(NicGroups, NicsAwayFromAcceleratorsMayBeLeftOut) {
    const IoTree tree = test::machine_tree("two_sockets");
    GroupRules rules;
    EXPECT_EQ(groups_text(tree, rules), "41:00.0 41:00.1 42:00.0 | 81:00.0 | 82:00.0");
    rules.skip_without_accelerator = true;
    EXPECT_EQ(groups_text(tree, rules), "41:00.0 41:00.1 42:00.0");
    const std::vector<PciAddress> some{{0, 0xee, 0, 0}, {0, 0x81, 0, 0}, {0, 0x42, 0, 0}};
    EXPECT_EQ(groups_text(tree, some, rules), "ee:00.0 | 42:00.0") << "of one that is not in the tree nobody knows";
}

TEST(NicGroups, ANicThatIsNotInTheTreeIsAGroupOfItsOwn) {
    EXPECT_EQ(groups_text(flat_machine(2, 1), {{0, 0xee, 0, 0}, {0, 2, 0, 0}, {0, 1, 0, 0}}),
              "ee:00.0 | 01:00.0 02:00.0");
    EXPECT_EQ(groups_text(IoTree{}, {{0, 2, 0, 0}, {0, 1, 0, 0}}), "02:00.0 | 01:00.0");
}

TEST(NicGroups, TwoPortsWithOneAddressAreTwoRails) {
    const IoTree tree = flat_machine(1, 1);
    const std::vector<PciAddress> ports{{0, 1, 0, 0}, {0, 1, 0, 0}};
    const auto groups = group_nics(tree, ports, {});
    ASSERT_TRUE(groups);
    EXPECT_EQ(*groups, (std::vector<std::vector<std::size_t>>{{0, 1}}));
}

TEST(NicGroups, RailsMayBeSortedByFunction) {
    MadeTree made;
    const int host = made.host();
    for (const char* address : {"01:00.2", "01:00.3", "02:00.0", "02:00.1"}) made.nic(host, address);
    made.gpu(host, "81:00.0");
    GroupRules rules;
    EXPECT_EQ(groups_text(made.tree, rules), "01:00.2 01:00.3 02:00.0 02:00.1");
    rules.sort_by_function = true;
    EXPECT_EQ(groups_text(made.tree, rules), "02:00.0 02:00.1 01:00.2 01:00.3") << "the leader too";
    rules.force_rails = 2;
    EXPECT_EQ(groups_text(made.tree, rules), "01:00.2 01:00.3 | 02:00.0 02:00.1") << "sorted inside a group only";
}

TEST(NicGroups, VendorAndClassTellAccelerators) {
    const auto together = [](std::uint16_t pci_class, std::uint16_t vendor) {
        MadeTree made;
        const int host = made.host();
        made.nic(host, "01:00.0");
        made.nic(host, "02:00.0");
        made.card(host, "81:00.0", pci_class, vendor);
        return groups_text(made.tree) == "01:00.0 02:00.0";
    };
    for (const std::uint16_t nvidia : {0x0300, 0x0302, 0x0380}) EXPECT_TRUE(together(nvidia, 0x10de)) << nvidia;
    for (const std::uint16_t amd : {0x0300, 0x0380, 0x1200}) EXPECT_TRUE(together(amd, 0x1002)) << amd;
    EXPECT_FALSE(together(0x1200, 0x10de));
    EXPECT_FALSE(together(0x0403, 0x10de)) << "the sound of a graphics card";
    EXPECT_FALSE(together(0x0680, 0x10de)) << "a switch";
    EXPECT_FALSE(together(0x0604, 0x1002)) << "a bridge of the card";
    EXPECT_FALSE(together(0x0300, 0x1a03)) << "the console";
    EXPECT_FALSE(together(0x0880, 0x1d0f)) << "Neuron";
}

TEST(NicGroups, TheNearestPlaceWithANicCounts) {
    MadeTree made;
    const int host = made.host();
    const int outer = made.bridge(host, "01:00.0");
    const int inner = made.bridge(outer, "02:00.0");
    const int empty = made.bridge(outer, "08:00.0");
    made.nic(inner, "03:00.0");
    made.nic(inner, "04:00.0");
    made.nic(outer, "05:00.0");
    made.nic(outer, "06:00.0");
    made.nic(host, "07:00.0");
    made.gpu(empty, "09:00.0");
    EXPECT_EQ(groups_text(made.tree), "03:00.0 04:00.0 05:00.0 06:00.0 | 07:00.0")
        << "the GPU's own bridge has no NIC, the one above has four below it";
    made.gpu(inner, "0a:00.0");
    EXPECT_EQ(groups_text(made.tree), "03:00.0 04:00.0 | 05:00.0 06:00.0 | 07:00.0");
}

TEST(IoPlaces, HostBridgesMeetWhereTheirNodesDo) {
    // Two packages of two nodes each: the accelerator on node 0 takes the NICs of its package, not those beyond.
    MadeTree made;
    made.gpu(made.host({0}), "01:00.0");
    made.nic(made.host({1}), "11:00.0");
    made.nic(made.host({1}), "12:00.0");
    made.nic(made.host({2}), "21:00.0");
    EXPECT_EQ(groups_text(made.tree), "11:00.0 12:00.0 21:00.0") << "nothing known between nodes and machine";
    made.tree.places = {{0, 1, 2, 3}, {0, 1}, {2, 3}, {0}, {1}, {2}, {3}};
    EXPECT_EQ(groups_text(made.tree), "11:00.0 12:00.0 | 21:00.0");
    made.gpu(made.host({}), "81:00.0");
    EXPECT_EQ(groups_text(made.tree), "11:00.0 12:00.0 | 21:00.0") << "one whose place is not known asks at the root";
    made.nic(made.host({}), "82:00.0");
    EXPECT_EQ(groups_text(made.tree), "11:00.0 12:00.0 | 21:00.0 82:00.0");
}

TEST(IoPlaces, EveryWayUpEndsAtTheRoot) {
    for (const char* name : {"single_switch", "cascaded_switches", "two_sockets", "four_nics_per_switch", "no_pci"}) {
        const IoTree tree = test::machine_tree(name);
        const IoPlaces places(tree);
        for (std::size_t i = 0; i < places.size(); ++i) {
            std::size_t steps = 0, top = i;
            for (auto at = places.above(i); at && steps <= places.size(); at = places.above(*at), ++steps) top = *at;
            EXPECT_EQ(top, places.root()) << name << " " << i;
        }
    }
}

}  // namespace
}  // namespace duofi::topology
