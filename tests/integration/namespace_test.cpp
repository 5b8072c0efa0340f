// Two nodes as two network namespaces: transfer, and a peer that is killed where no process of ours
// can see it. Architecture 4.8: death across nodes shows within 10 s.
#include <signal.h>
#include <unistd.h>

#include "tests/integration/integration.hpp"
#include "tests/integration/namespaces.hpp"

namespace duofi::test {
namespace {

constexpr Nanoseconds kFarDeathLimit = patience(10 * kSecond);

DUOFI_RANK_BODY(transfer_between_nodes) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(60, 1));
    rank.barrier();
}

DUOFI_RANK_BODY(death_on_another_node) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(12, 1));
    MemoryBuffer buffer(1 << 20);
    if (rank.index == 1) {
        rank.channel->drop_members(1);
        ::raise(SIGKILL);
    }
    const Registration mr(link.recv, buffer.data(), buffer.size());
    const Part part{buffer.data(), 1 << 20, 3, mr.handle()};
    const Nanoseconds start = now_ns();
    void* recv = post_recv(link.recv, {&part, 1});
    const ncclResult_t result = wait_error(net, recv, kFarDeathLimit);
    require(result == ncclRemoteError, "a receive gave {}", result_name(result));
    require(now_ns() - start < kFarDeathLimit, "death showed late");
    const Registration send_mr(link.send, buffer.data(), buffer.size());
    void* request = nullptr;
    const ncclResult_t late =
        net->isend(link.send.get(), buffer.data(), 64, 3, send_mr.handle(), &request);
    require(late == ncclSuccess || late == ncclRemoteError, "isend gave {}", result_name(late));
    if (request != nullptr)
        require(wait_error(net, request, kFarDeathLimit) == ncclRemoteError, "send to the dead");
}

TEST(Nodes, transfer) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    for (const char* provider : {"native", "rxm", "sockets"}) {
        GroupOptions options = on_provider(provider, 2);
        options.prefixes = {nodes.prefix(0, false), nodes.prefix(1, false)};
        SCOPED_TRACE(provider);
        run_group("transfer_between_nodes", options);
    }
}

TEST(Nodes, death_of_the_other_one) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    for (const char* provider : {"native", "rxm", "sockets"}) {
        GroupOptions options = on_provider(provider, 2);
        options.prefixes = {nodes.prefix(0, true), nodes.prefix(1, true)};
        options.ends[1] = RankEnd::any;
        SCOPED_TRACE(provider);
        run_group("death_on_another_node", options);
    }
}

}  // namespace
}  // namespace duofi::test
