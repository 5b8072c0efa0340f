// Waits that must end, counters that lie, more threads than CPUs (V-21, V-30, V-41).
// Units: p2p/kernels/kernel
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "p2p/kernels/transfer.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::KernelResult;
using p2p::Protocol;

/// Both ends of a pair wait for something that never comes.
class Stuck {
  public:
    Stuck(Protocol protocol, EdgeMode mode) : mesh_(2, 1, settings(mode)), data_(64 * 1024) {
        mesh_.context.spin = {0, 0};
        threads_[0] = std::thread([this, protocol] {
            p2p::SendTransfer send(mesh_.send(0, 0, 1), data_.data(), data_.size(), protocol);
            results_[0] = p2p::run_transfers({&send, 1}, {}, mesh_.context);
            ended_[0] = now_ns();
        });
        threads_[1] = std::thread([this, protocol] {
            p2p::RecvTransfer receive(mesh_.receive(0, 1, 0), other_.data(), other_.size(),
                                      protocol);
            results_[1] = p2p::run_transfers({}, {&receive, 1}, mesh_.context);
            ended_[1] = now_ns();
        });
    }
    /// Raises the abort word; the longest time until an end returned.
    Nanoseconds abort() {
        const Nanoseconds start = now_ns();
        mesh_.context.raise_abort();
        for (std::thread& thread : threads_) thread.join();
        return std::max(ended_[0], ended_[1]) - start;
    }
    [[nodiscard]] KernelResult result(std::size_t end) const { return results_[end]; }

  private:
    static EdgeSettings settings(EdgeMode mode) {
        EdgeSettings settings;
        settings.mode = mode;
        return settings;
    }
    Mesh mesh_;
    std::vector<std::byte> data_, other_ = std::vector<std::byte>(64);
    std::thread threads_[2];
    KernelResult results_[2] = {};
    Nanoseconds ended_[2] = {};
};

TEST(Waiting, AbortEndsBothEndsAtOnce_V30) {
    for (const EdgeMode mode : kEdgeModes) {
        for (const Protocol protocol : kProtocols) {
            Nanoseconds best = 60 * kSecond;
            for (int attempt = 0; attempt < 5 && best > 10 * kMillisecond; ++attempt) {
                Stuck stuck(protocol, mode);
                std::this_thread::yield();
                best = std::min(best, stuck.abort());
                EXPECT_EQ(stuck.result(0), KernelResult::aborted);
                EXPECT_EQ(stuck.result(1), KernelResult::aborted);
            }
            EXPECT_LE(best, 10 * kMillisecond)
                << to_string(protocol);  // the best of five: CPUs are shared
        }
    }
}

TEST(Waiting, TimeoutEndsAWaitAndRaisesTheAbortWord) {
    for (const Protocol protocol : kProtocols) {
        Mesh mesh(2, 1, EdgeSettings{});
        mesh.context.spin.timeout = 30 * kMillisecond;
        std::byte data[8];
        p2p::RecvTransfer receive(mesh.receive(0, 0, 1), data, sizeof data, protocol);
        const Nanoseconds start = now_ns();
        EXPECT_EQ(p2p::run_transfers({}, {&receive, 1}, mesh.context), KernelResult::timed_out);
        EXPECT_GE(now_ns() - start, 30 * kMillisecond);
        EXPECT_EQ(mesh.abort, 1U);
    }
}

TEST(Waiting, CounterThatLiesEndsTheTransferAndItsRing) {
    for (const std::uint64_t lie : {std::uint64_t{99}, ~std::uint64_t{0}}) {
        Edge edge{EdgeSettings{}};
        p2p::SendLink sender = edge.sender();
        p2p::RecvLink receiver = edge.receiver();
        std::uint32_t abort = 0;
        const p2p::KernelContext context = patient_context(&abort);
        std::vector<std::byte> data(128 * 1024);
        p2p::SendTransfer send(sender, data.data(), data.size(), Protocol::simple);
        edge.send_memory().head = lie;
        EXPECT_EQ(p2p::run_transfers({&send, 1}, {}, context), KernelResult::bad_counter);
        edge.recv_memory().tail = lie;
        p2p::RecvTransfer receive(receiver, data.data(), data.size(), Protocol::simple);
        EXPECT_EQ(p2p::run_transfers({}, {&receive, 1}, context), KernelResult::bad_counter);
        EXPECT_EQ(abort, 1U);
    }
}

TEST(SpinPolicy, YieldsOnlyWhereThreadsAreMoreThanCpus) {
    const unsigned cpus = std::thread::hardware_concurrency();
    EXPECT_EQ(p2p::SpinPolicy::for_threads(cpus).spins_before_yield, 0U);
    EXPECT_EQ(p2p::SpinPolicy::for_threads(cpus + 1).spins_before_yield, 2000U);
    EXPECT_EQ(p2p::SpinPolicy::for_threads(1, 7).spins_before_yield, 7U);
    EXPECT_EQ(p2p::SpinPolicy::for_threads(cpus + 1, 0).spins_before_yield, 0U);
}

/// A rank's thread: operations of different shapes, one after the other on the same connectors.
/// Each answer is the maximum over the ranks of what they hold, rank + 1.
KernelResult take_turns(Mesh& mesh, int rank, int rounds, const p2p::KernelContext& context,
                        bool& right) {
    const int ranks = mesh.ranks();
    const auto me = static_cast<std::size_t>(rank);
    const p2p::RingPlace place{&mesh.send(0, rank, (rank + 1) % ranks),
                               &mesh.receive(0, (rank + ranks - 1) % ranks, rank), mesh.orders[me],
                               0, 1};
    std::vector<std::int32_t> in(3000, rank + 1), out(3000 * static_cast<std::size_t>(ranks));
    for (int round = 0; round < rounds; ++round) {
        p2p::RingOperation operation;
        operation.kind = static_cast<p2p::RingCollective>(round % 4);
        operation.type = p2p::DataType::int32;
        operation.op = p2p::Reduction::max;
        operation.protocol = kProtocols[round % 5 % 3];
        operation.input = in.data();
        operation.output = out.data();
        operation.count = static_cast<std::size_t>(round % 7 * 400);  // 0 is among them
        if (operation.kind == p2p::RingCollective::reduce_scatter)
            operation.count /= static_cast<std::size_t>(ranks);
        const KernelResult result = p2p::run_ring(operation, place, context);
        if (result != KernelResult::ok) return result;
        const bool reduces = operation.kind == p2p::RingCollective::all_reduce ||
                             operation.kind == p2p::RingCollective::reduce_scatter;
        if (operation.count > 0) right = right && out[operation.count - 1] == (reduces ? ranks : 1);
    }
    return KernelResult::ok;
}

/// Operations with different slices and chunks take turns on the same connectors (V-21), 8 ranks on
/// whatever CPUs there are (V-41).
TEST(Waiting, ManyRanksOnFewCpusFinishAndYield_V21_V41) {
    constexpr int kRanks = 8, kRounds = 140;
    const Nanoseconds start = now_ns();
    for (const EdgeMode mode : kEdgeModes) {
        EdgeSettings settings;
        settings.mode = mode;
        Mesh mesh(kRanks, 1, settings);
        mesh.context.spin = p2p::SpinPolicy::for_threads(1000);
        mesh.context.spin.timeout = 10 * kSecond;
        std::vector<p2p::KernelStatistics> statistics(kRanks);
        std::array<bool, kRanks> right;
        right.fill(true);
        const auto results = mesh.run([&](int rank, int) {
            const auto me = static_cast<std::size_t>(rank);
            p2p::KernelContext context = mesh.context;
            context.statistics = &statistics[me];
            return take_turns(mesh, rank, kRounds, context, right[me]);
        });
        EXPECT_EQ(results, std::vector<KernelResult>(kRanks, KernelResult::ok));
        EXPECT_TRUE(std::ranges::all_of(right, [](bool one) { return one; }));
        std::uint64_t yields = 0;
        for (const p2p::KernelStatistics& one : statistics) yields += one.yields;
        if (std::thread::hardware_concurrency() < kRanks) {
            EXPECT_GT(yields, 0U);
        }
    }
    // 420 operations of up to 14 hops: a quantum of milliseconds per hop would take a minute.
    EXPECT_LT(now_ns() - start, 50 * kSecond);
}

/// An operation without elements has no step behind which a lent buffer is known to be taken: a fast rank
/// must not lend the next one over it (C-41).
TEST(Waiting, EmptyOperationsDoNotLendBuffers_C41) {
    constexpr int kRanks = 4, kRounds = 400;
    EdgeSettings settings;
    settings.mode = EdgeMode::direct;
    Mesh mesh(kRanks, 1, settings);
    mesh.context.spin.timeout = 5 * kSecond;
    const auto results = mesh.run([&](int rank, int) {
        std::vector<std::byte> in(64), out(64 * kRanks);
        for (int round = 0; round < kRounds; ++round) {
            p2p::RingOperation operation;
            operation.kind = p2p::RingCollective::all_gather;
            operation.type = p2p::DataType::uint8;
            operation.input = in.data();
            operation.output = out.data();
            operation.count = round % 3 == 2 ? 64 : 0;
            const KernelResult result = mesh.ring_part(operation, rank, 0);
            if (result != KernelResult::ok) return result;
        }
        return KernelResult::ok;
    });
    EXPECT_EQ(results, std::vector<KernelResult>(kRanks, KernelResult::ok));
}

}  // namespace
}  // namespace duofi::test
