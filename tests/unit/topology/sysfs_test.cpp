#include "common/topology/sysfs.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topology/sysfs_tree.hpp"

namespace duofi::topology {
namespace {

TEST(Sysfs, ReadsFirstLinesAndNumbers) {
    const test::SysfsTree tree;
    tree.add_file("/sys/a", "first \t\nsecond\n");
    tree.add_file("/sys/n", "-1\n");
    tree.add_file("/sys/bad", "12x\n");
    tree.add_file("/sys/huge", "99999999999999999999\n");
    tree.add_file("/sys/empty", "");
    const Sysfs sysfs = tree.sysfs();
    EXPECT_EQ(sysfs.first_line("/sys/a"), "first");
    EXPECT_EQ(sysfs.number("/sys/n"), -1);
    EXPECT_EQ(sysfs.number("/sys/bad"), std::nullopt);
    EXPECT_EQ(sysfs.number("/sys/huge"), std::nullopt);
    EXPECT_EQ(sysfs.first_line("/sys/empty"), std::nullopt);
    EXPECT_EQ(sysfs.first_line("/sys/missing"), std::nullopt);
    EXPECT_EQ(sysfs.first_line("/sys"), std::nullopt);
}

TEST(Sysfs, ResolvesLinksInsideItsRootOnly) {
    const test::SysfsTree tree;
    tree.add_directory("/sys/devices/x");
    tree.add_link("/sys/class/x", "/sys/devices/x");
    std::filesystem::create_symlink("/usr", tree.root() / "sys/class/outside");
    const Sysfs sysfs = tree.sysfs();
    EXPECT_EQ(sysfs.resolve("/sys/class/x"), "/sys/devices/x");
    EXPECT_EQ(sysfs.resolve("/sys/class/outside"), std::nullopt);
    EXPECT_EQ(sysfs.resolve("/sys/class/none"), std::nullopt);
    EXPECT_TRUE(sysfs.exists("/sys/class/x"));
    EXPECT_FALSE(sysfs.exists("/sys/class/none"));
}

TEST(Sysfs, AMissingRootAnswersNothing) {
    const Sysfs sysfs("/nonexistent-root");
    EXPECT_EQ(sysfs.resolve("/sys"), std::nullopt);
    EXPECT_EQ(sysfs.link_text("/sys/x"), std::nullopt);
    EXPECT_EQ(sysfs.number("/sys/x"), std::nullopt);
}

TEST(Sysfs, ReadsTheRealMachine) {
    EXPECT_TRUE(Sysfs().link_text("/proc/self/ns/net").has_value());
    EXPECT_TRUE(Sysfs().resolve("/proc/self").has_value());
}

}  // namespace
}  // namespace duofi::topology
