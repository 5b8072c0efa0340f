// Neuron instances: V-14, and the servers of V-15.
// Units: p2p/gate/neuron_torus.
#include "p2p/gate/neuron_torus.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/p2p/gate/records.hpp"

namespace duofi::p2p::test {
namespace {

TEST(Torus, NeighboursAreThePublishedOnes) {  // V-14
    EXPECT_EQ(torus_neighbours(0), (std::array<int, 4>{12, 3, 4, 1}));
    EXPECT_EQ(torus_neighbours(1), (std::array<int, 4>{13, 0, 5, 2}));
    EXPECT_EQ(torus_neighbours(2), (std::array<int, 4>{14, 1, 6, 3}));
    for (int chip = 0; chip < kTorusChips; ++chip)
        for (const int next : torus_neighbours(chip)) {
            const auto back = torus_neighbours(next);
            EXPECT_NE(std::find(back.begin(), back.end(), chip), back.end());
            EXPECT_EQ(torus_distance(chip, next), 1);
        }
}

TEST(Torus, DistancesAreThoseOfAHypercube) {  // V-14
    constexpr int kGray[] = {0, 1, 3, 2};
    for (int a = 0; a < kTorusChips; ++a) {
        std::map<int, int> histogram;
        for (int b = 0; b < kTorusChips; ++b) {
            const int corner_a = kGray[a / 4] << 2 | kGray[a % 4];
            const int corner_b = kGray[b / 4] << 2 | kGray[b % 4];
            EXPECT_EQ(torus_distance(a, b),
                      __builtin_popcount(static_cast<unsigned>(corner_a ^ corner_b)));
            ++histogram[torus_distance(a, b)];
        }
        EXPECT_EQ(histogram, (std::map<int, int>{{0, 1}, {1, 4}, {2, 6}, {3, 4}, {4, 1}}));
    }
}

class TorusInstance : public testing::TestWithParam<const char*> {};

TEST_P(TorusInstance, EachRowHasOneFourSixFive) {  // V-14
    std::vector<ncclPeerInfo> ranks;
    const auto topo = gate_on(*neuron_instance(GetParam(), 16), ranks);
    for (const ncclPeerInfo& a : ranks) {
        std::map<PathType, int> row;
        for (const ncclPeerInfo& b : ranks) {
            const Judgement found = judge(topo, a, b);
            ++row[found.path.type];
            const int distance = torus_distance(a.mlaIndex, b.mlaIndex);
            EXPECT_EQ(found.step == GateStep::passed, distance <= 2) << a.rank << " " << b.rank;
            if (found.path.type != PathType::nvb) continue;
            EXPECT_EQ(distance, 2);
            EXPECT_EQ(torus_distance(a.mlaIndex, found.path.intermediate), 1);
            EXPECT_EQ(torus_distance(b.mlaIndex, found.path.intermediate), 1) << "a common neighbour";
        }
        EXPECT_EQ(row[PathType::loc], 1);
        EXPECT_EQ(row[PathType::nvl], 4);
        EXPECT_EQ(row[PathType::nvb], 6);
        EXPECT_EQ(row[PathType::phb] + row[PathType::sys], 5);
    }
}

TEST_P(TorusInstance, WithoutRelaysTheSixGoToTheNetwork) {  // V-14
    std::vector<ncclPeerInfo> ranks;
    auto topo = gate_on(*neuron_instance(GetParam(), 16), ranks);
    topo.relay = false;
    std::map<GateStep, int> row;
    for (const ncclPeerInfo& b : ranks) ++row[gate(topo, ranks[0], b)];
    EXPECT_EQ(row, (std::map<GateStep, int>{
                       {GateStep::passed, 5}, {GateStep::relay_off, 6}, {GateStep::access, 5}}));
    // The base's own formula: path and access.
    topo.plain_formula = true;
    row.clear();
    for (const ncclPeerInfo& b : ranks) ++row[gate(topo, ranks[0], b)];
    EXPECT_EQ(row, (std::map<GateStep, int>{{GateStep::passed, 5}, {GateStep::access, 11}}));
}

TEST_P(TorusInstance, EveryChipOfTheInstanceWhenMemoryIsPooled) {
    std::vector<ncclPeerInfo> ranks;
    auto topo = gate_on(*neuron_instance(GetParam(), 16), ranks, NeuronReach::instance);
    topo.plain_formula = true;
    for (const ncclPeerInfo& b : ranks) {
        EXPECT_EQ(gate(topo, ranks[0], b), GateStep::passed);
        EXPECT_EQ(check_p2p(topo, ranks[0], b).intermediate, -1) << "a direct edge";
    }
}

INSTANTIATE_TEST_SUITE_P(Families, TorusInstance, testing::Values("trn1", "trn2", "trn3"));

TEST(Instances, PartsOfAnInstance) {  // V-14
    const std::map<int, int> links{{1, 0}, {4, 4}, {8, 12}, {16, 32}};  // rings of rows, and between rows
    for (const auto& [chips, expected] : links) {
        const auto machine = neuron_instance("trn1", chips);
        ASSERT_TRUE(machine) << chips;
        EXPECT_EQ(machine->devices().size(), static_cast<std::size_t>(chips));
        int found = 0;
        for (const TopoNode& node : machine->nodes)
            for (const TopoLink& link : node.links) found += link.type == PathType::nvl ? 1 : 0;
        EXPECT_EQ(found, expected * 2) << chips;
    }
    for (const int chips : {0, 2, 3, 5, 12, 17}) EXPECT_FALSE(neuron_instance("trn1", chips)) << chips;
    EXPECT_FALSE(neuron_instance("trn4", 16));
}

TEST(Instances, ChipsThatAreMissingReachNobody) {
    const std::vector<int> present{0, 1};
    const NeuronChip zero{NeuronFamily::trn1, 0, 0}, one{NeuronFamily::trn1, 1, 1};
    const NeuronChip four{NeuronFamily::trn1, 4, 4};
    EXPECT_TRUE(neuron_can_access(zero, one, present, NeuronReach::adjacent));
    EXPECT_FALSE(neuron_can_access(zero, four, present, NeuronReach::adjacent));
    EXPECT_FALSE(neuron_can_access(zero, four, present, NeuronReach::instance));
    EXPECT_TRUE(neuron_can_access(four, four, present, NeuronReach::adjacent)) << "itself";
}

TEST(Instances, SwitchesReachEveryChipOfTheirServer) {  // V-15
    std::vector<ncclPeerInfo> ranks;
    const auto topo = gate_on(*neuron_instance("trn3switch", 16), ranks);
    for (const ncclPeerInfo& a : ranks)
        for (const ncclPeerInfo& b : ranks) {
            EXPECT_EQ(gate(topo, a, b), GateStep::passed);
            EXPECT_EQ(check_p2p(topo, a, b).type, a.rank == b.rank ? PathType::loc : PathType::nvl);
        }
    EXPECT_EQ(chip_of_routing_id(0x35), 5);
    EXPECT_EQ(server_of_routing_id(0x35), 3);
    const std::vector<int> present{5, 6};
    const NeuronChip here{NeuronFamily::trn3_switch, 5, 0x35}, there{NeuronFamily::trn3_switch, 6, 0x46};
    EXPECT_FALSE(neuron_can_access(here, there, present, NeuronReach::instance)) << "another server";
}

TEST(Instances, RingsAndSingleChips) {
    const auto machine = neuron_instance("inf2", 12);
    ASSERT_TRUE(machine);
    for (int a = 0; a < 12; ++a)
        for (int b = 0; b < 12; ++b) {
            const int step = std::abs(a - b);
            EXPECT_EQ(model_can_access(*machine, made_up_bus_id(a), made_up_bus_id(b),
                                       NeuronReach::adjacent),
                      step == 0 || step == 1 || step == 11);
        }
    const std::vector<int> present{0, 1};
    const NeuronChip zero{NeuronFamily::inf1, 0, 0}, one{NeuronFamily::inf1, 1, 1};
    EXPECT_FALSE(neuron_can_access(zero, one, present, NeuronReach::adjacent));
    EXPECT_TRUE(neuron_can_access(zero, zero, present, NeuronReach::adjacent));
}

TEST(Instances, CoresOfAChip) {  // p2p contract 3.4
    EXPECT_EQ(chip_of_core(3, 2, 1), 1);
    EXPECT_EQ(chip_of_core(3, 8, 1), 0);
    EXPECT_EQ(chip_of_core(5, 8, 2), 1);
    EXPECT_EQ(chip_of_core(-1, 8, 2), -1);
    EXPECT_EQ(chip_of_core(1, 8, 0), -1);
}

}  // namespace
}  // namespace duofi::p2p::test
