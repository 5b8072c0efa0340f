// What other programs print, as the bench reads it.
// Units: tools/duofi/p2p_peers
#include "tools/duofi/p2p_peers.hpp"

#include <gtest/gtest.h>

#include <array>

namespace duofi::tool {
namespace {

TEST(P2pPeers, LinesOfTheMpiPairAmongOthers) {
    const auto pairs = parse_pair_lines(
        "a warning of a launcher\n8 161.5\n4096 4460.0\n16 processes started\n67108864 1.8e7\n");
    ASSERT_EQ(pairs.size(), 3U);
    EXPECT_EQ(pairs[0], (std::pair<std::size_t, double>{8, 161.5}));
    EXPECT_EQ(pairs[2].second, 1.8e7);
}

TEST(P2pPeers, LastLineOfAPerftest) {
    EXPECT_DOUBLE_EQ(parse_perftest("[thread 0]  100 0.2 0.3 0.3 25 25 1 1\n"
                                    "Final:   1000  0.089  0.101  0.102  75.5  75.5 1 1\n"),
                     0.101);
    EXPECT_EQ(parse_perftest("no route to host"), 0);
    EXPECT_EQ(parse_perftest("Final: 1000"), 0);
}

TEST(P2pPeers, AProgramThatFailsIsNamed) {
    const std::array<std::size_t, 1> sizes{8};
    const auto values = run_p2p_peer({"openmpi", "/bin/false"}, sizes, 0.001);
    ASSERT_FALSE(values);
    EXPECT_NE(values.error().find("/bin/false"), std::string::npos) << values.error();
    const auto silent = run_p2p_peer({"openmpi", "echo 8"}, sizes, 0.001);
    ASSERT_TRUE(silent);
    EXPECT_EQ(silent->front(), 0) << "it did not say";
}

}  // namespace
}  // namespace duofi::tool
