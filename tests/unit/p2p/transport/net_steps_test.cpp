// The proxy's step counts are those of the kernels (C-40): every operation on a pure P2P ring, the
// step words of both ends before and after.
// Units: p2p/transport/net_steps.
#include "p2p/transport/net_steps.hpp"

#include <gtest/gtest.h>

#include "tests/support/failure.hpp"
#include "tests/unit/p2p/transport/net_nodes.hpp"

namespace duofi::p2p::test {
namespace {

std::uint64_t round_up(std::uint64_t step, std::uint64_t unit) {
    return (step + unit - 1) / unit * unit;
}

/// Steps of one connector as kernels see it.
struct StepWord {
    const ncclConnInfo* conn;
    std::uint64_t before;
    explicit StepWord(const ncclConnector& connector)
        : conn(&connector.conn), before(connector.conn.step) {}
    void expect(const NetWork& work, const std::string& what) const {
        const std::uint64_t expected =
            work.steps == 0 ? before : round_up(before, work.chunk_steps) + work.steps;
        EXPECT_EQ(conn->step, expected) << what;
    }
};

void check_ring(Communicator& communicator, RingOperation operation, Protocol protocol) {
    Operations operations(communicator, bit(protocol));
    ncclComm& comm = communicator.comm();
    ASSERT_TRUE(communicator.connect_ring());
    std::vector<std::int32_t> in(operation.count * 3), out(operation.count * 3);
    operation.type = DataType::int32;
    operation.input = in.data();
    operation.output = out.data();
    operation.protocol = protocol;
    const std::size_t bytes = edge_bytes(operation, 3);
    const int channels =
        static_cast<int>(std::min<std::size_t>(2, std::max<std::size_t>(1, bytes / 262144)));
    for (int round = 0; round < 2; ++round) {
        std::vector<StepWord> sends, receives;
        for (const ncclChannel& channel : comm.channels) {
            sends.emplace_back(channel.devPeers[channel.ring.next].send);
            receives.emplace_back(channel.devPeers[channel.ring.prev].recv);
        }
        ASSERT_TRUE(operations.ring(operation));
        for (int c = 0; c < channels; ++c) {
            const ncclRing& ring = comm.channels[static_cast<std::size_t>(c)].ring;
            const RingWork work =
                ring_work(operation, std::span(ring.userRanks, 3), channels, comm.buff_sizes);
            const std::string what = "kind " + std::to_string(static_cast<int>(operation.kind)) +
                                     " count " + std::to_string(operation.count) + " protocol " +
                                     to_string(protocol) + " rank " + std::to_string(comm.rank);
            sends[static_cast<std::size_t>(c)].expect(work.to_next, what + " to next");
            receives[static_cast<std::size_t>(c)].expect(work.from_previous, what + " from previous");
        }
    }
}

/// Each costs ten times as much under a sanitizer.
std::vector<std::size_t> counts() {
    if (duofi::test::kSanitized) return {0, 1, 4097, 30000};
    return {0, 1, 100, 4095, 4096, 4097, 30000, 200000};
}

TEST(NetSteps, C40_RingsTakeWhatTheKernelsTake) {
    Team team(3, "unified", on_nodes(3, 2));
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
            for (const auto kind : {RingCollective::all_reduce, RingCollective::all_gather,
                                    RingCollective::reduce_scatter, RingCollective::broadcast})
                for (const std::size_t count : counts()) {
                    RingOperation operation;
                    operation.kind = kind;
                    operation.count = count;
                    operation.root = 1;
                    check_ring(communicator, operation, protocol);
                }
    });
    team.tear_down();
}

TEST(NetSteps, C40_TransfersTakeWhatTheKernelsTake) {
    Team team(2, "host", [](int rank, CommunicatorOptions& options) {
        on_nodes(2)(rank, options);
        options.settings.nccl_p2p_direct_disable = "1";  // NET edges lend no buffers either
    });
    ASSERT_TRUE(team.whole());
    team.run([](int rank, Communicator& communicator) {
        ASSERT_TRUE(communicator.connect_all());
        const ncclPeer& seen = communicator.comm().channels.front().devPeers[1 - rank];
        for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
            MixedRank mixed(communicator, bit(protocol));
            for (const std::size_t bytes : {0, 1, 8, 256, 257, 1000, 4096, 4097, 100000}) {
                const StepWord send(seen.send), receive(seen.recv);
                ASSERT_TRUE(mixed.shift(bytes));
                const NetWork work =
                    transfer_work(bytes, protocol, communicator.comm().buff_sizes);
                EXPECT_GE(work.steps, 1u) << "a message of nothing is one step";
                send.expect(work, "sent " + std::to_string(bytes));
                receive.expect(work, "received " + std::to_string(bytes));
            }
        }
    });
    team.tear_down();
}

}  // namespace
}  // namespace duofi::p2p::test
