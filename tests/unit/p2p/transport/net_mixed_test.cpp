// Operations over P2P and NET edges together (V-24, C-60 to C-62), ranks that are threads.
// Units: p2p/transport/net_enqueue p2p/transport/net_proxy.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "p2p/transport/net_enqueue.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/unit/p2p/transport/net_nodes.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

using duofi::test::LogLines;

class Mixed : public testing::Test {
  protected:
    void TearDown() override {
        EXPECT_TRUE(fake_net_is_closed());
        EXPECT_EQ(net_counts().threads_running, 0u);
        stop_fake_net();
    }
    static void run_everything(int ranks, int per_node, int channels = 1,
                               ProtocolSet allowed = kAllProtocols, std::size_t most = 40000) {
        Team team(ranks, "host", on_nodes(per_node, channels));
        ASSERT_TRUE(team.whole());
        team.run([&](int, Communicator& communicator) {
            EXPECT_TRUE(MixedRank(communicator, allowed).everything(most));
        });
        team.tear_down();
        EXPECT_EQ(fake_counts().closed_with_requests, 0);
    }
    LogLines lines_;
};

TEST_F(Mixed, C60_OneProxyOperationPerNetEdgeAndDirection) {
    use_fake_net(6);
    Team team(4, "host", on_nodes(2));  // 0 and 1, 2 and 3: each rank has an edge of either kind
    ASSERT_TRUE(team.whole());
    std::atomic<bool> good{true};
    const auto counted = [&](const auto& operation, std::uint64_t expected, const char* what) {
        const NetCounts before = net_counts();
        team.run([&](int, Communicator& communicator) {
            MixedRank mixed(communicator);
            if (!operation(mixed)) good = false;
        });
        const NetCounts after = net_counts();
        EXPECT_EQ(after.send_operations - before.send_operations, expected) << what;
        EXPECT_EQ(after.recv_operations - before.recv_operations, expected) << what;
    };
    const NetCounts start = net_counts();
    for (const std::size_t count : {1, 40, 20000}) {
        counted([&](MixedRank& m) { return m.all_reduce(count); }, 2, "all-reduce");
        counted([&](MixedRank& m) { return m.all_gather(count); }, 2, "all-gather");
        counted([&](MixedRank& m) { return m.reduce_scatter(count); }, 2, "reduce-scatter");
        counted([&](MixedRank& m) { return m.broadcast(count, 0); }, 1, "broadcast: one edge is last");
        counted([&](MixedRank& m) { return m.shift(count); }, 2, "shift");
        counted([&](MixedRank& m) { return m.all_to_all(count); }, 8, "all-to-all: two per rank");
    }
    counted([&](MixedRank& m) { return m.all_reduce(0); }, 0, "nothing");
    counted([&](MixedRank& m) { return m.shift(0); }, 2, "a message of nothing");
    EXPECT_TRUE(good);
    EXPECT_EQ(net_counts().threads_started - start.threads_started, 4u) << "one per communicator";
    team.tear_down();
}

TEST_F(Mixed, PureP2pJobsHaveNoProxy) {
    use_fake_net(6);
    const NetCounts before = net_counts();
    run_everything(3, 3);
    const NetCounts after = net_counts();
    EXPECT_EQ(after.send_operations, before.send_operations);
    EXPECT_EQ(after.recv_operations, before.recv_operations);
    EXPECT_EQ(after.threads_started, before.threads_started);
    EXPECT_EQ(fake_counts().inits, 0) << "the plugin is not even opened";
}

TEST_F(Mixed, C60_EveryProtocol) {
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        SCOPED_TRACE(to_string(protocol));
        use_fake_net(6);
        run_everything(4, 2, 1, bit(protocol), protocol == Protocol::simple ? 40000 : 5000);
    }
}

TEST_F(Mixed, C62_ShapesOfNodes) {
    for (const auto& [ranks, per_node] : {std::pair{2, 1}, {3, 1}, {3, 2}, {4, 4}, {5, 2}}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(per_node) + " per node");
        use_fake_net(6);
        run_everything(ranks, per_node);
    }
}

TEST_F(Mixed, TablesOfAllVersions) {
    for (int version = 6; version <= 12; ++version) {
        SCOPED_TRACE(version);
        use_fake_net(version, {.attempts = 2, .tests = 1 + version % 3, .refusals = version % 4 + 2});
        Team team(4, "host", on_nodes(2));
        ASSERT_TRUE(team.whole());
        team.run([](int, Communicator& communicator) {
            MixedRank mixed(communicator);
            EXPECT_TRUE(mixed.all_reduce(5000) && mixed.all_to_all(3000) && mixed.shift(16));
        });
        team.tear_down();
    }
}

TEST_F(Mixed, SeveralChannels) {
    use_fake_net(6, {.devices = 2});
    Team team(4, "host", on_nodes(2, 3));
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        MixedRank mixed(communicator);
        EXPECT_TRUE(mixed.all_reduce(900000) && mixed.all_to_all(800001) && mixed.shift(1000000));
    });
    team.tear_down();
}

/// The first failure of a NET edge ends the operation at every rank of it, soon.
void expect_failure(const FakePlan& plan, const LogLines& lines, const std::string& line) {
    use_fake_net(6);
    Team team(3, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        EXPECT_TRUE(MixedRank(communicator).all_reduce(100));
    });
    change_fake_plan(plan);
    const Nanoseconds start = now_ns();
    team.run([](int, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        std::vector<std::int32_t> data(20000);
        RingOperation operation;
        operation.type = DataType::int32;
        operation.input = operation.output = data.data();
        operation.count = data.size();
        const Status failed = operations.ring(operation);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, Errc::remote);
        EXPECT_FALSE(communicator.check_usable("again"));
    });
    EXPECT_LT(now_ns() - start, 5 * kSecond);
    EXPECT_FALSE(lines.with(line).empty()) << lines.dump();
    team.run([](int, Communicator& communicator) { (void)communicator.tear_down(); });
}

TEST_F(Mixed, FailuresOfThePluginEndTheOperation) {
    expect_failure({.fail = "isend"}, lines_, "isend of the net plugin");
}
TEST_F(Mixed, FailuresOfRequestsEndTheOperation) {
    expect_failure({.fail = "test", .fail_after = 7}, lines_, "test of the net plugin");
}
TEST_F(Mixed, FailuresOfReceivesEndTheOperation) {
    expect_failure({.fail = "irecv", .fail_after = 2}, lines_, "irecv of the net plugin");
}

/// Others wait for all of it: a second try would find them in another operation.
TEST_F(Mixed, AnOperationThatCannotBePostedEndsTheCommunicator) {
    use_fake_net(6);
    Team team(2, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    change_fake_plan({.fail = "regMr"});
    team.run([](int, Communicator& communicator) {
        std::vector<std::int32_t> data(20000);
        RingOperation operation;
        operation.type = DataType::int32;
        operation.input = operation.output = data.data();
        operation.count = data.size();
        EXPECT_FALSE(Operations(communicator, kAllProtocols).ring(operation));
        EXPECT_FALSE(communicator.check_usable("again"));
    });
    team.run([](int, Communicator& communicator) { (void)communicator.tear_down(); });
}

TEST_F(Mixed, V30_AbortEndsAWaitForTheNetwork) {
    use_fake_net(6);
    Team team(2, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.connect_all();
    std::atomic<Nanoseconds> aborted{0};
    Nanoseconds ended = 0;
    std::thread waiting([&] {
        Operations operations(team.rank(0), kAllProtocols);
        std::vector<char> data(100000);
        const Status got = operations.transfer({}, {data.data(), data.size(), 1});
        ended = now_ns();
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, Errc::remote);
    });
    const Deadline started(5 * kSecond);
    while (fake_counts().requests < NCCL_STEPS && !started.passed()) std::this_thread::yield();
    EXPECT_EQ(fake_counts().requests, NCCL_STEPS) << "receives are with the plugin";
    aborted = now_ns();
    team.rank(0).abort();
    waiting.join();
    EXPECT_LT(ended - aborted, kSecond);
    team.rank(1).abort();
    const Nanoseconds closing = now_ns();
    team.run([](int, Communicator& communicator) { (void)communicator.tear_down(); });
    EXPECT_LT(now_ns() - closing, 3 * kSecond);
}

TEST_F(Mixed, NothingIsLeftAfterManyCommunicators) {
    use_fake_net(6, {.attempts = 1, .tests = 1});
    const auto once = [] {
        Team team(2, "host", on_nodes(1));
        ASSERT_TRUE(team.whole());
        team.run([](int, Communicator& communicator) {
            EXPECT_TRUE(MixedRank(communicator).all_reduce(10));
        });
        team.tear_down();
    };
    once();
    const auto before = duofi::test::ProcessFacts::now();
    for (int i = 0; i < 20; ++i) once();
    const auto after = duofi::test::ProcessFacts::now();
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_EQ(after.threads, before.threads);
}

TEST_F(Mixed, AnIdleProxySleeps) {
    use_fake_net(6);
    Team team(2, "host", on_nodes(1));
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        EXPECT_TRUE(MixedRank(communicator).all_reduce(10));
    });
    timespec start{}, end{};
    const Deadline settled(50 * kMillisecond);
    while (!settled.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    const Deadline idle(200 * kMillisecond);
    while (!idle.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const Nanoseconds used = (end.tv_sec - start.tv_sec) * kSecond + end.tv_nsec - start.tv_nsec;
    EXPECT_LT(used, 50 * kMillisecond) << "two connected edges without operations";
    team.tear_down();
}

}  // namespace
}  // namespace duofi::p2p::test
