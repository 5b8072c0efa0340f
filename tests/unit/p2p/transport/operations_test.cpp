// Collectives and transfers through connectors that the driver made: V-30, V-43, C-24.
// Units: p2p/operations, p2p/operations_links.
#include "p2p/operations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <tuple>

#include "p2p/runtime/runtime.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

using Ints = std::vector<std::int32_t>;

std::int32_t value(int rank, std::size_t i) {
    return static_cast<std::int32_t>(rank * 1000003 + static_cast<int>(i) * 7);
}

Ints vector_of(int rank, std::size_t count) {
    Ints values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value(rank, i);
    return values;
}

void check_all_reduce(Operations& operations, int rank, int ranks, std::size_t count) {
    const Ints input = vector_of(rank, count);
    Ints output(count, -1);
    const Status done = operations.ring({.kind = RingCollective::all_reduce,
                                         .type = DataType::int32,
                                         .input = input.data(),
                                         .output = output.data(),
                                         .count = count});
    ASSERT_TRUE(done) << done.error().place;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t sum = 0;
        for (int from = 0; from < ranks; ++from) sum += static_cast<std::uint32_t>(value(from, i));
        ASSERT_EQ(output[i], static_cast<std::int32_t>(sum)) << "rank " << rank << " at " << i;
    }
}

void check_all_to_all(Operations& operations, int rank, int ranks, std::size_t count) {
    const Ints input = vector_of(rank, count * static_cast<std::size_t>(ranks));
    Ints output(input.size(), -1);
    ASSERT_TRUE(operations.all_to_all(input.data(), output.data(), count * sizeof(std::int32_t)));
    for (int from = 0; from < ranks; ++from)
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(output[static_cast<std::size_t>(from) * count + i],
                      value(from, static_cast<std::size_t>(rank) * count + i));
}

void check_transfers(Operations& operations, int rank, int ranks, std::size_t count) {
    const Ints input = vector_of(rank, count);
    Ints output(count, -1);
    const std::size_t bytes = count * sizeof(std::int32_t);
    const int to = (rank + 1) % ranks;
    const int from = (rank + ranks - 1) % ranks;
    ASSERT_TRUE(operations.transfer({input.data(), bytes, to}, {output.data(), bytes, from}));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(output[i], value(from, i));
}

using Case = std::tuple<std::string, Wiring, Protocol>;

class OperationsTest : public testing::TestWithParam<Case> {};

TEST_P(OperationsTest, move_the_right_bytes) {
    const auto& [runtime, wiring, protocol] = GetParam();
    Team team(3, runtime, [&, mode = wiring](int rank, CommunicatorOptions& options) {
        wire_as(mode, false, rank, options);
        options.channels = 2;
    });
    ASSERT_TRUE(team.whole());
    team.run([&, chosen = protocol](int rank, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        operations.force(chosen);
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{200000}}) {
            check_all_reduce(operations, rank, 3, count);
            check_all_to_all(operations, rank, 3, count);
            check_transfers(operations, rank, 3, count);
        }
    });
    team.tear_down();
}

INSTANTIATE_TEST_SUITE_P(
    Operations, OperationsTest,
    testing::Combine(testing::Values("unified", "host"),
                     testing::Values(Wiring::direct, Wiring::ipc, Wiring::relay),
                     testing::Values(Protocol::ll, Protocol::ll128, Protocol::simple)),
    [](const auto& one) {
        return std::get<0>(one.param) + "_" + name_of(std::get<1>(one.param)) + "_" +
               to_string(std::get<2>(one.param));
    });

TEST(OperationsAlone, copy) {
    Team team(1, "host");
    ASSERT_TRUE(team.whole());
    Operations operations(team.rank(0), kAllProtocols);
    check_all_reduce(operations, 0, 1, 100);
    check_all_to_all(operations, 0, 1, 100);
    const Ints input = vector_of(0, 10);
    Ints output(10);
    EXPECT_TRUE(operations.transfer({input.data(), 40, 0}, {output.data(), 40, 0}));
    EXPECT_EQ(input, output);
    EXPECT_FALSE(operations.transfer({input.data(), 40, 0}, {}));
    EXPECT_FALSE(operations.transfer({input.data(), 40, 0}, {output.data(), 36, 0}));
}

TEST(Operations, sends_and_receives_connect_what_they_need_and_no_more) {
    Team team(4, "host");
    ASSERT_TRUE(team.whole());
    team.run([](int rank, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        std::int64_t word = rank == 1 ? 4711 : 0;
        if (rank == 1) {
            ASSERT_TRUE(operations.transfer({&word, sizeof(word), 3}, {}));
        }
        if (rank == 3) {
            ASSERT_TRUE(operations.transfer({}, {&word, sizeof(word), 1}));
        }
        EXPECT_EQ(word, rank == 1 || rank == 3 ? 4711 : 0);
    });
    const ncclPeer& entry = team.comm(1).channels[0].peers[3];
    EXPECT_EQ(entry.send.connected, 1);
    EXPECT_EQ(entry.recv.connected, 0);
    EXPECT_TRUE(team.bootstrap(0).sent().empty());
}

TEST(Operations, kernels_advance_the_mirror_only) {  // C-24
    Team team(2, "host");
    ASSERT_TRUE(team.whole());
    team.run([](int rank, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        check_transfers(operations, rank, 2, 10);
    });
    EXPECT_EQ(team.comm(0).channels[0].peers[1].send.conn.step, 0U);
    EXPECT_GT(team.comm(0).channels[0].devPeers[1].send.conn.step, 0U);
}

TEST(Abort, both_spinning_ends_return_at_once) {  // V-30
    constexpr Nanoseconds kLimit = duofi::test::patience(10 * kMillisecond);
    Nanoseconds best = kSecond;
    for (int attempt = 0; attempt < 10 && best > kLimit; ++attempt) {
        duofi::test::LogLines lines;
        Team team(2, "host");
        ASSERT_TRUE(team.whole());
        team.connect_all();
        std::atomic<int> ready{0};
        std::atomic<Nanoseconds> last{0};
        std::thread aborter([&] {
            while (ready != 2) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));  // both are inside by now
            last = now_ns();
            team.rank(0).abort();
            team.rank(1).abort();
        });
        std::atomic<Nanoseconds> end{0};
        team.run([&](int rank, Communicator& communicator) {
            Operations operations(communicator, kAllProtocols);
            std::int32_t word = 0;
            ++ready;
            const Status done = operations.transfer({}, {&word, sizeof(word), 1 - rank});
            end = now_ns();
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().code, Errc::remote);
            EXPECT_FALSE(operations.transfer({&word, sizeof(word), 1 - rank}, {}));
        });
        aborter.join();
        best = std::min(best, end.load() - last.load());
        EXPECT_FALSE(lines.with("because the communicator was aborted").empty());
    }
    EXPECT_LE(best, kLimit);
}

TEST(Abort, a_wait_for_messages_ends_too) {
    duofi::test::LogLines lines;
    std::atomic<bool> waiting{false};
    Team team(2, "host", {}, [&](int from, int, Message& message) {
        if (from == 0 && message.type == MessageType::transport_init) waiting = true;
        return true;
    });
    ASSERT_TRUE(team.whole());
    team.run([&](int rank, Communicator& communicator) {
        if (rank == 1) {
            while (!waiting) std::this_thread::yield();
            team.rank(0).abort();
            return;
        }
        const Nanoseconds begin = now_ns();
        const int peer = 1;
        EXPECT_FALSE(communicator.connect(std::span(&peer, 1), {}));
        EXPECT_LT(now_ns() - begin, 5 * kSecond);
    });
    EXPECT_TRUE(waiting);
    EXPECT_EQ(lines.warnings(), 1U) << lines.dump();
    EXPECT_FALSE(lines.with("p2pconnect ends because the communicator was aborted").empty());
}

TEST(Mismatch, a_missing_peer_ends_with_the_time_of_a_kernel) {  // V-33
    duofi::test::LogLines lines;
    Team team(2, "host",
              [](int, CommunicatorOptions& options) { options.settings.p2p_timeout_s = 0.1; });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    team.run([](int rank, Communicator& communicator) {
        if (rank == 1) return;
        Operations operations(communicator, kAllProtocols);
        std::int32_t word = 0;
        const Status done = operations.transfer({}, {&word, sizeof(word), 1});
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::timed_out);
    });
    EXPECT_FALSE(lines.with("transfer failed: timed_out").empty()) << lines.dump();
}

TEST(Mismatch, of_counts_is_told_with_debug_sizes) {  // V-33
    duofi::test::LogLines lines;
    Team team(2, "host", [](int rank, CommunicatorOptions& options) {
        wire_as(Wiring::ipc, false, rank, options);
        options.settings.p2p_debug_sizes = true;
        options.settings.p2p_timeout_s = 5;
    });
    ASSERT_TRUE(team.whole());
    std::atomic<int> told{0};
    team.run([&](int rank, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        Ints data(100);
        const Status done = rank == 0 ? operations.transfer({data.data(), 396, 1}, {})
                                      : operations.transfer({}, {data.data(), 400, 0});
        if (!done && done.error().code == Errc::invalid_usage) ++told;
    });
    EXPECT_EQ(told, 1) << "the receiver";
    EXPECT_FALSE(lines.with("size_mismatch").empty() && lines.with("sizes").empty())
        << lines.dump();
}

class Storm : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Storm, many_ranks_and_channels_connect_and_work) {  // V-43
    const auto [ranks, channels] = GetParam();
    Team team(ranks, "host", [count = channels](int rank, CommunicatorOptions& options) {
        // Every other rank looks like a process of its own.
        options.pid_salt = static_cast<std::uint64_t>(rank % 2 == 0 ? 0 : rank);
        options.channels = count;
        options.timeout = 60 * kSecond;
    });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    team.run([count = ranks](int rank, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        check_all_to_all(operations, rank, count, 10);
        check_all_reduce(operations, rank, count, 1000);
    });
    team.tear_down();
}

INSTANTIATE_TEST_SUITE_P(Operations, Storm, testing::Values(std::pair(16, 2), std::pair(2, 32)),
                         [](const auto& one) {
                             return std::to_string(one.param.first) + "_ranks_" +
                                    std::to_string(one.param.second) + "_channels";
                         });

TEST(StormOfCommunicators, create_and_destroy_again_and_again) {  // V-43, short
    for (int i = 0; i < 50; ++i) {
        Team team(2, i % 2 == 0 ? "host" : "unified");
        ASSERT_TRUE(team.whole());
        team.connect_all();
        team.tear_down();
    }
    EXPECT_EQ(runtime::installed(), nullptr) << "the last one takes the runtime along";
}

}  // namespace
}  // namespace duofi::p2p::test
