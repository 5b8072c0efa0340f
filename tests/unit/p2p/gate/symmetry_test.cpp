// 10,000 random machines: both ends of a pair get one answer, and asking again gives it again
// (V-17, C-31, C-32).
// Units: p2p/gate/paths, p2p/gate/placement, p2p/gate/can_connect.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "tests/unit/p2p/gate/records.hpp"

namespace duofi::p2p::test {
namespace {

constexpr int kMachines = 10000;
constexpr std::uint32_t kSeed = 20260;

class RandomMachine {
  public:
    explicit RandomMachine(std::mt19937& random) : random_(random) {
        const int cpus = below(3) + 1, switches = below(4), devices = below(6) + 2, nics = below(3);
        for (int i = 0; i < cpus; ++i) places_.push_back(machine_.cpu(i));
        for (int i = 0; i < switches; ++i) places_.push_back(hang(NodeKind::pci_switch, 0x80000 + (i << 12)));
        for (int i = 0; i < devices; ++i) hang(NodeKind::device, (i + 1) << 12);
        for (int i = 0; i < nics; ++i) hang(NodeKind::nic, 0xa0000 + (i << 12));
        if (below(4) != 0) machine_.connect_cpus();
        const std::vector<int> all = machine_.devices();
        for (std::size_t a = 0; a < all.size(); ++a)
            for (std::size_t b = a + 1; b < all.size(); ++b)
                if (below(3) == 0) machine_.connect(all[a], all[b], PathType::nvl, below(3) * 10 + 10);
    }
    [[nodiscard]] const TopoModel& machine() const { return machine_; }
    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  private:
    int hang(NodeKind kind, std::int64_t id) {
        TopoNode node;
        node.kind = kind;
        node.id = id;
        node.device.compute_cap = below(2) == 0 ? 80 : 90;
        const int made = machine_.add(std::move(node));
        const auto place = places_[static_cast<std::size_t>(below(static_cast<int>(places_.size())))];
        machine_.connect_pci(made, place, below(3) * 8 + 8);
        return made;
    }
    std::mt19937& random_;
    TopoModel machine_;
    std::vector<int> places_;
};

/// Changes some ranks: several per device, other hosts, processes and memory domains, no device.
void disturb(RandomMachine& source, std::vector<ncclPeerInfo>& ranks) {
    const std::size_t first = ranks.size();
    for (std::size_t i = 0; i < first; ++i)
        if (source.below(4) == 0) ranks.push_back(ranks[i]);
    std::vector<int> numbers(ranks.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::size_t i = numbers.size() - 1; i > 0; --i)
        std::swap(numbers[i], numbers[static_cast<std::size_t>(source.below(static_cast<int>(i) + 1))]);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        ranks[i].rank = numbers[i];
        ranks[i].pidHash = static_cast<std::uint64_t>(source.below(3));
        if (source.below(8) == 0) ranks[i].hostHash = 6;
        if (source.below(8) == 0) ranks[i].shmDev = std::uint64_t{8} << 32;
        if (source.below(16) == 0) ranks[i].busId = 0xf0000;
    }
}

void set_options(RandomMachine& source, ncclTopoSystem& topo) {
    topo.relay = source.below(2) == 0;
    topo.level = static_cast<PathType>(source.below(10));
    topo.unified = source.below(4) == 0;
    topo.plain_formula = topo.unified;
    topo.prefer_net = source.below(2) == 0;
    topo.access = [](const ncclPeerInfo& low, const ncclPeerInfo& high) -> Result<bool> {
        return (low.rank * 3 + high.rank) % 5 != 0;  // depends on the order in which it is asked
    };
}

void check_pair(const ncclTopoSystem& topo, const ncclPeerInfo& a, const ncclPeerInfo& b) {
    const Judgement one = judge(topo, a, b), other = judge(topo, b, a), again = judge(topo, a, b);
    ASSERT_EQ(one.step, other.step);
    ASSERT_EQ(one.path.type, other.path.type);
    ASSERT_EQ(one.path.p2p, other.path.p2p);
    ASSERT_EQ(one.path.read, other.path.read);
    ASSERT_EQ(one.path.intermediate, other.path.intermediate);
    ASSERT_EQ(one.access, other.access);
    ASSERT_EQ(one.step, again.step);
    ASSERT_EQ(one.path.intermediate, again.path.intermediate);
}

/// Answers over all machines: a test in which a step never fails says nothing about it.
using Tally = std::map<GateStep, int>;

void check_machine(std::mt19937& random, Tally& tally) {
    RandomMachine source(random);
    std::vector<ncclPeerInfo> ranks;
    ncclTopoSystem topo = gate_on(source.machine(), ranks);
    disturb(source, ranks);
    set_options(source, topo);
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, source.below(4) != 0);
    for (const ncclPeerInfo& a : ranks)
        for (const ncclPeerInfo& b : ranks) {
            ASSERT_NO_FATAL_FAILURE(check_pair(topo, a, b));
            ++tally[judge(topo, a, b).step];
        }
    // The placement of another process, which sees the ranks in the same order, says the same.
    ncclTopoSystem elsewhere = topo;
    elsewhere.placement = std::make_shared<const Placement>(
        std::make_shared<const TopoModel>(*topo.machine), ranks, true);
    topo.placement = std::make_shared<const Placement>(topo.machine, ranks, true);
    const ncclPeerInfo &a = ranks.front(), &b = ranks.back();
    ASSERT_EQ(judge(topo, a, b).step, judge(elsewhere, b, a).step);
    ASSERT_EQ(judge(topo, a, b).path.intermediate, judge(elsewhere, b, a).path.intermediate);
}

TEST(Symmetry, TenThousandMachines) {  // V-17
    std::mt19937 random(kSeed);
    Tally tally;
    for (int i = 0; i < kMachines && !testing::Test::HasFatalFailure(); ++i) {
        SCOPED_TRACE(testing::Message() << "machine " << i << " of seed " << kSeed);
        check_machine(random, tally);
    }
    for (const GateStep step : {GateStep::passed, GateStep::other_host, GateStep::other_domain, GateStep::path,
                                GateStep::relay_off, GateStep::access, GateStep::net_is_wider})
        EXPECT_GT(tally[step], 100) << to_string(step);
}

}  // namespace
}  // namespace duofi::p2p::test
