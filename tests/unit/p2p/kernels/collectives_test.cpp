// Collectives of threads over hand-wired edges: values, places, channels (V-20, V-21).
// Units: p2p/kernels/collectives, p2p/kernels/primitives
#include "p2p/kernels/collectives.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/failure.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::DataType;
using p2p::KernelResult;
using p2p::Protocol;
using p2p::Reduction;
using p2p::RingCollective;

/// Small integers: exact in every type, also when added in any order.
template <typename T>
T element_of(int rank, std::size_t i) {
    return static_cast<T>((static_cast<std::size_t>(rank) * 7 + i * 5 + i / 251) % 13);
}

template <typename T>
T expected_reduction(Reduction op, int ranks, std::size_t i) {
    T value = element_of<T>(0, i);
    for (int rank = 1; rank < ranks; ++rank) {
        const T other = element_of<T>(rank, i);
        if (op == Reduction::sum)
            value = static_cast<T>(value + other);
        else
            value = (op == Reduction::max) == (other > value) ? other : value;
    }
    return value;
}

struct Plan {
    RingCollective kind = RingCollective::all_reduce;
    DataType type = DataType::float32;
    Reduction op = Reduction::sum;
    Protocol protocol = Protocol::simple;
    EdgeMode mode = EdgeMode::slots;
    int ranks = 2;
    int channels = 1;
    std::size_t count = 0;
    std::size_t shift = 0;
    int root = 0;
    bool in_place = false;

    [[nodiscard]] std::string text() const {
        return "kind " + std::to_string(static_cast<int>(kind)) + " type " +
               std::to_string(static_cast<int>(type)) + " op " +
               std::to_string(static_cast<int>(op)) + " " + to_string(protocol) + " mode " +
               std::to_string(static_cast<int>(mode)) + " ranks " + std::to_string(ranks) +
               " channels " + std::to_string(channels) + " count " + std::to_string(count) +
               " shift " + std::to_string(shift) + " root " + std::to_string(root) +
               (in_place ? " in place" : "");
    }
    [[nodiscard]] bool gathers() const { return kind == RingCollective::all_gather; }
    [[nodiscard]] bool scatters() const { return kind == RingCollective::reduce_scatter; }
};

template <typename T>
class Check {
  public:
    explicit Check(const Plan& plan)
        : plan_(plan), all_(plan.count * static_cast<std::size_t>(plan.ranks)) {
        for (int rank = 0; rank < plan.ranks; ++rank) {
            inputs_.emplace_back((plan.scatters() ? all_ : plan.count) * sizeof(T), plan.shift);
            outputs_.emplace_back(
                (plan.gathers() || (plan.scatters() && plan.in_place) ? all_ : plan.count) *
                    sizeof(T),
                (plan.shift + 5) % 16);
        }
        for (int rank = 0; rank < plan.ranks; ++rank) fill(rank);
    }
    void buffers(int rank, p2p::RingOperation& operation) {
        operation.input = input(rank);
        operation.output = output(rank);
    }
    void verify() {
        for (int rank = 0; rank < plan_.ranks; ++rank) {
            const auto* got = output(rank);
            const std::size_t n = plan_.gathers() ? all_ : plan_.count;
            for (std::size_t i = 0; i < n; ++i) {
                T value;
                std::memcpy(&value, got + i * sizeof(T), sizeof(T));
                ASSERT_EQ(value, expected(rank, i))
                    << plan_.text() << " rank " << rank << " element " << i;
            }
            ASSERT_TRUE(inputs_[at(rank)].guards_intact() && outputs_[at(rank)].guards_intact())
                << plan_.text();
        }
    }

  private:
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    std::byte* own_share(int rank) {
        return outputs_[at(rank)].data() + at(rank) * plan_.count * sizeof(T);
    }
    std::byte* input(int rank) {
        if (!plan_.in_place) return inputs_[at(rank)].data();
        return plan_.gathers() ? own_share(rank) : outputs_[at(rank)].data();
    }
    std::byte* output(int rank) {
        return plan_.in_place && plan_.scatters() ? own_share(rank) : outputs_[at(rank)].data();
    }
    void fill(int rank) {
        const std::size_t n = plan_.scatters() ? all_ : plan_.count;
        for (std::size_t i = 0; i < n; ++i) {
            const T value = element_of<T>(rank, i);
            std::memcpy(input(rank) + i * sizeof(T), &value, sizeof(T));
        }
    }
    T expected(int rank, std::size_t i) const {
        switch (plan_.kind) {
            case RingCollective::all_gather:
                return element_of<T>(static_cast<int>(i / plan_.count), i % plan_.count);
            case RingCollective::broadcast:
                return element_of<T>(plan_.root, i);
            case RingCollective::reduce_scatter:
                return expected_reduction<T>(plan_.op, plan_.ranks, at(rank) * plan_.count + i);
            default:
                return expected_reduction<T>(plan_.op, plan_.ranks, i);
        }
    }

    const Plan& plan_;
    std::size_t all_;
    std::vector<GuardedBuffer> inputs_, outputs_;
};

template <typename T>
void run_typed(const Plan& plan, Mesh& mesh) {
    Check<T> check(plan);
    p2p::RingOperation operation;
    operation.kind = plan.kind;
    operation.type = plan.type;
    operation.op = plan.op;
    operation.count = plan.count;
    operation.root = plan.root;
    operation.protocol = plan.protocol;
    const auto results = mesh.run_ring(
        operation, [&](int rank, p2p::RingOperation& mine) { check.buffers(rank, mine); });
    for (const KernelResult result : results) ASSERT_EQ(result, KernelResult::ok) << plan.text();
    check.verify();
}

void run_plan(const Plan& plan, Mesh& mesh) {
    switch (plan.type) {
        case DataType::uint8:
            return run_typed<std::uint8_t>(plan, mesh);
        case DataType::int32:
            return run_typed<std::int32_t>(plan, mesh);
        case DataType::int64:
            return run_typed<std::int64_t>(plan, mesh);
        case DataType::float32:
            return run_typed<float>(plan, mesh);
        case DataType::float64:
            return run_typed<double>(plan, mesh);
    }
}

constexpr int kPlans = kSanitized ? 10 : 40;  // of the same sequence: each costs ten times as much there

Plan random_plan(std::mt19937_64& random, const Mesh& mesh, EdgeMode mode) {
    constexpr std::size_t kCounts[] = {0,    1,    2,    7,    8,    9,    31,   120,
                                       1023, 1025, 4095, 4096, 4097, 9999, 40000};
    Plan plan;
    plan.kind = static_cast<RingCollective>(random() % 4);
    plan.type = static_cast<DataType>(random() % 5);
    plan.op = static_cast<Reduction>(random() % 3);
    plan.protocol = kProtocols[random() % 3];
    plan.mode = mode;
    plan.ranks = mesh.ranks();
    plan.channels = mesh.channels();
    plan.count = kCounts[random() % std::size(kCounts)];
    plan.shift = random() % 16;
    plan.root = static_cast<int>(random() % static_cast<std::uint64_t>(mesh.ranks()));
    plan.in_place = random() % 2 != 0;
    return plan;
}

/// One mesh carries many operations: what one leaves behind must suit the next (V-21).
class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, SeededSampleOfEverything_V20_V21) {
    const int ranks = GetParam();
    for (const EdgeMode mode : kEdgeModes) {
        EdgeSettings settings;
        settings.mode = mode;
        Mesh mesh(ranks, ranks % 2 + 1, settings);
        std::mt19937_64 random(static_cast<std::uint64_t>(ranks) * 101 +
                               static_cast<std::uint64_t>(mode));
        for (int i = 0; i < kPlans && !HasFatalFailure(); ++i)
            run_plan(random_plan(random, mesh, mode), mesh);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Range(2, 9));

TEST(Collective, WholeLoopsOfTheDefaultBuffers_V20) {
    EdgeSettings settings;
    settings.sizes = {
        {NCCL_DEFAULT_LL_BUFFSIZE, NCCL_DEFAULT_LL128_BUFFSIZE, P2P_DEFAULT_CPU_SIMPLE_BUFFSIZE}};
    for (const EdgeMode mode : {EdgeMode::slots, EdgeMode::direct}) {
        settings.mode = mode;
        Mesh mesh(3, 1, settings);
        Plan plan;
        plan.mode = mode;
        plan.ranks = 3;
        for (const auto kind : {RingCollective::all_reduce, RingCollective::all_gather,
                                RingCollective::reduce_scatter, RingCollective::broadcast}) {
            plan.kind = kind;
            plan.count = (std::size_t{3} << 20) / 4 + 17;
            run_plan(plan, mesh);
        }
    }
}

TEST(Collective, AllToAllOfEverySize_V20) {
    for (const EdgeMode mode : kEdgeModes) {
        EdgeSettings settings;
        settings.mode = mode;
        for (const int ranks : {2, 3, 5, 8}) {
            Mesh mesh(ranks, 2, settings);
            for (const Protocol protocol : kProtocols) {
                for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{129},
                                                std::size_t{4097}, std::size_t{70001}}) {
                    std::vector<GuardedBuffer> in, out;
                    const std::size_t n = static_cast<std::size_t>(ranks);
                    for (std::size_t rank = 0; rank < n; ++rank) {
                        in.emplace_back(bytes * n, 1);
                        out.emplace_back(bytes * n, 2);
                        for (std::size_t i = 0; i < bytes * n; ++i)
                            in[rank].data()[i] = pattern_byte(rank * n + (bytes ? i / bytes : 0),
                                                              bytes ? i % bytes : 0);
                    }
                    const auto results = mesh.run([&](int rank, int channel) {
                        const auto me = static_cast<std::size_t>(rank);
                        return mesh.all_to_all_part(in[me].data(), out[me].data(), bytes, protocol,
                                                    rank, channel);
                    });
                    for (const KernelResult result : results) ASSERT_EQ(result, KernelResult::ok);
                    for (std::size_t rank = 0; rank < n; ++rank) {
                        for (std::size_t i = 0; i < bytes * n; ++i)
                            ASSERT_EQ(out[rank].data()[i],
                                      pattern_byte(i / bytes * n + rank, i % bytes))
                                << to_string(protocol) << " " << bytes << " bytes, rank " << rank
                                << " at " << i;
                        ASSERT_TRUE(out[rank].guards_intact());
                    }
                }
            }
        }
    }
}

TEST(Collective, RingOfOneCopies) {
    GuardedBuffer in(100), out(100);
    in.fill(4);
    p2p::RingOperation operation;
    operation.type = DataType::uint8;
    operation.count = 100;
    operation.input = in.data();
    operation.output = out.data();
    p2p::run_alone(operation);
    EXPECT_TRUE(out.holds(4) && out.guards_intact());
    operation.input = nullptr;  // a broadcast's root may be the only one with an input
    p2p::run_alone(operation);
    EXPECT_TRUE(out.holds(4));
}

TEST(Collective, PartsOfChannelsCoverEveryMessageOnce_C40) {
    for (const std::size_t bytes : {0UL, 1UL, 127UL, 128UL, 129UL, 1000UL, 4096UL, 100003UL}) {
        for (int channels = 1; channels <= 32; ++channels) {
            std::size_t next = 0;
            for (int channel = 0; channel < channels; ++channel) {
                const p2p::Part part = p2p::part_of(bytes, channel, channels);
                EXPECT_EQ(part.offset, next);
                next += part.bytes;
            }
            EXPECT_EQ(next, bytes) << channels;
        }
    }
}

}  // namespace
}  // namespace duofi::test
