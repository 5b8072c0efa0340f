// Names, numbers and defaults of levels: V-13.
// Units: p2p/gate/levels.
#include "p2p/gate/levels.hpp"

#include <gtest/gtest.h>

#include "tests/unit/p2p/gate/records.hpp"

namespace duofi::p2p::test {
namespace {

constexpr PathType kAll[] = {PathType::loc, PathType::nvl, PathType::nvb, PathType::c2c,
                             PathType::pix, PathType::pxb, PathType::p2c, PathType::pxn,
                             PathType::phb, PathType::sys, PathType::net, PathType::dis};

TEST(Levels, NamesAndNumbersAreThoseOfTheCallers) {  // V-13
    const char* names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                           "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
    const int era[] = {0, 1, 2, -1, 3, 4, -1, -1, 5, 6, -1, -1};
    for (int i = 0; i < kPathTypes; ++i) {
        EXPECT_EQ(static_cast<int>(kAll[i]), i);
        EXPECT_STREQ(to_string(kAll[i]), names[i]);
        EXPECT_EQ(era_value(kAll[i]), era[i]);
        const std::optional<PathType> expected =
            kAll[i] <= PathType::sys ? std::optional(kAll[i]) : std::nullopt;
        EXPECT_EQ(parse_level(names[i]), expected) << names[i];
    }
}

TEST(Levels, NumbersOfTheFirstReleases) {  // V-13
    const PathType legacy[] = {PathType::loc, PathType::pix, PathType::pxb, PathType::phb,
                               PathType::sys, PathType::sys};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(parse_level(std::to_string(i)), legacy[i]) << i;
    EXPECT_EQ(parse_level("12"), PathType::sys);
    EXPECT_EQ(parse_level("99999999999999999999999"), PathType::sys);
    EXPECT_EQ(parse_level("2x"), PathType::pxb) << "the leading digits count";
    EXPECT_EQ(parse_level("0x4"), PathType::loc);
}

TEST(Levels, OtherTextsAreNone) {  // V-13
    for (const char* text : {"", "nvl", "Sys", "NODE", "NET", "DIS", "PIX ", " PIX", "-1", "+1", "PI", "PIXX"})
        EXPECT_FALSE(parse_level(text)) << text;
}

TEST(Levels, Defaults) {
    EXPECT_EQ(default_level(LevelRule::shared_memory, "GenuineIntel", 8), PathType::sys);
    EXPECT_EQ(default_level(LevelRule::accelerator, "GenuineIntel", 2), PathType::pxb);
    EXPECT_EQ(default_level(LevelRule::accelerator, "AuthenticAMD", 2), PathType::sys);
    EXPECT_EQ(default_level(LevelRule::accelerator, "AuthenticAMD", 3), PathType::pxb);
    EXPECT_EQ(default_level(LevelRule::accelerator, "", 1), PathType::pxb);
}

/// Two devices with a path of just that type.
TopoModel pair_with(PathType type) {
    TopoModel machine;
    for (int bus = 1; bus <= 2; ++bus) {
        TopoNode device;
        device.id = bus << 12;
        machine.add(std::move(device));
    }
    machine.connect(0, 1, type, 10);
    return machine;
}

TEST(Levels, EveryLevelAgainstEveryPath) {  // V-13
    for (const PathType path : {PathType::nvl, PathType::c2c, PathType::pix, PathType::pxb,
                                PathType::phb, PathType::sys})
        for (int level = 0; level <= static_cast<int>(PathType::sys); ++level) {
            std::vector<ncclPeerInfo> ranks;
            ncclTopoSystem topo = gate_on(pair_with(path), ranks);
            topo.level = static_cast<PathType>(level);
            const GateStep expected =
                static_cast<int>(path) <= level ? GateStep::passed : GateStep::path;
            EXPECT_EQ(gate(topo, ranks[0], ranks[1]), expected)
                << to_string(path) << " at level " << to_string(topo.level);
            EXPECT_EQ(check_p2p(topo, ranks[0], ranks[1]).type, path);
            ranks[1].busId = ranks[0].busId;
            EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::passed) << "LOC is below every level";
            topo.disabled = true;
            EXPECT_EQ(gate(topo, ranks[0], ranks[1]), GateStep::disabled) << "T-11";
        }
}

}  // namespace
}  // namespace duofi::p2p::test
