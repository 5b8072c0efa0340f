// P2P and NET edges in one job over the real plugin (V-24, C-60 to C-62): ranks as processes and
// threads, nodes by NCCL_HOSTID and by namespaces (V-34), the end of a rank on another node.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/integration/integration.hpp"
#include "tests/integration/p2p_ranks.hpp"
#include "tests/support/namespaces.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

constexpr Nanoseconds kFarDeathLimit = patience(10 * kSecond);

/// "nodes" of them, consecutive processes together; before any communicator is made.
void become_node(const Rank& rank) {
    const int nodes = rank.number("nodes", 1);
    if (nodes > 1)
        ::setenv("NCCL_HOSTID", ("node" + std::to_string(rank.index * nodes / rank.count)).c_str(), 1);
}

std::string edge_to(const P2pMember& member, int peer) {
    const char* text = "";
    member.require_success(duofiP2pEdge(member.comm(), peer, &text), "edge");
    return text;
}

/// "P2P" or "NET" as the nodes of the two processes say.
void require_edges(const P2pMember& member, const Rank& rank) {
    const int threads = rank.number("threads", 1), nodes = rank.number("nodes", 1);
    for (int peer = 0; peer < member.size(); ++peer) {
        if (peer == member.rank()) continue;
        const int there = peer / threads * nodes / rank.count;
        const bool near = there == rank.index * nodes / rank.count;
        const std::string text = edge_to(member, peer);
        require(text.starts_with(near ? "P2P" : "NET"), "edge {} -> {} goes over {}", member.rank(),
                peer, text);
    }
}

DUOFI_RANK_BODY(p2p_net_operations) {
    become_node(rank);
    const auto seed = static_cast<std::uint64_t>(rank.number("seed", 1));
    run_members(rank, [&](P2pMember& member) {
        member.require_success(duofiP2pConnectAll(member.comm()), "connect");
        require_edges(member, rank);
        run_seeded_operations(member, seed, rank.number("full", 0) != 0 ? 200 : 25);
    });
}

void run_nodes(const Mix& mix, int nodes, int seed,
               const std::map<std::string, std::string>& env = {}) {
    GroupOptions options = p2p_options(mix, env);
    options.args["seed"] = std::to_string(seed);
    options.args["nodes"] = std::to_string(nodes);
    run_group("p2p_net_operations", options);
}

TEST(P2pNet, MixesOfProcessesThreadsAndNodes_C61_C62) {
    run_nodes({2, 2}, 2, 31);
    run_nodes({4, 1}, 2, 32);
    run_nodes({3, 1}, 3, 33);
    run_nodes({1, 4}, 1, 34);
    if (!full_tier()) return;
    for (const Mix mix : {Mix{2, 1}, {2, 3}, {4, 2}, {6, 1}, {8, 1}})
        for (const int nodes : {1, 2}) run_nodes(mix, nodes, 40 + mix.processes);
}

TEST(P2pNet, EachProtocolOverTheWire_C60) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
        SCOPED_TRACE(protocol);
        run_nodes({4, 1}, 2, 35, {{"NCCL_PROTO", protocol}});
    }
    run_nodes({2, 2}, 2, 36, {{"DUOFI_P2P_CHANNELS", "3"}});
}

/// Communicators come and go; threads, descriptors and mappings go with them.
DUOFI_RANK_BODY(p2p_net_life) {
    become_node(rank);
    const auto once = [&] {
        run_members(rank, [&](P2pMember& member) { run_seeded_operations(member, 5, 3); });
        rank.barrier();
        return ProcessFacts::now();
    };
    once();
    const ProcessFacts first = once();
    for (int i = 0; i < 4; ++i) once();
    const ProcessFacts last = once();
    require(first.threads == last.threads && first.descriptors == last.descriptors,
            "first {}, last {}", first.to_string(), last.to_string());
    require(kSanitized || last.mappings <= first.mappings + 8,  // a sanitizer's allocator maps for itself
            "{} mappings, then {}", first.mappings, last.mappings);
    require(last.shm_entries.empty(), "left in /dev/shm: {}", last.to_string());
}

TEST(P2pNet, NothingIsLeftBehind_V31) {
    // The port is for one store; each communicator needs one of its own.
    GroupOptions options = p2p_options({2, 1});
    options.args["nodes"] = "2";
    run_group("p2p_net_life", options);
}

ncclResult_t largest_of_all(P2pMember& member, std::vector<std::int32_t>& data) {
    return duofiP2pAllReduce(data.data(), data.data(), data.size(), duofiP2pInt32, duofiP2pMax,
                             member.comm());
}

/// A rank (1 unless named) dies in the middle of traffic; the others learn of it, and from no timeout.
DUOFI_RANK_BODY(p2p_net_death) {
    become_node(rank);
    run_members(rank, [&](P2pMember& member) {
        std::vector<std::int32_t> data(5000, 1);
        const auto operation = [&] { return largest_of_all(member, data); };
        for (int i = 0; i < 20; ++i) member.require_success(operation(), "all-reduce");
        if (rank.number("nets", 0) != 0)
            require(edge_to(member, (member.rank() + 1) % member.size()) == "NET_NEURON",
                    "the edge goes over {}", edge_to(member, (member.rank() + 1) % member.size()));
        rank.barrier();  // what the dead one had sent may die with it
        if (member.rank() == rank.number("victim", 1)) {
            rank.channel->drop_members(1);
            ::kill(::getpid(), SIGKILL);
        }
        const Nanoseconds start = now_ns();
        ncclResult_t result = ncclSuccess;
        while (result == ncclSuccess && now_ns() - start < 2 * kFarDeathLimit) result = operation();
        require(result == ncclRemoteError, "result {}: {}", static_cast<int>(result),
                duofiP2pGetLastError(member.comm()));
        require(now_ns() - start < kFarDeathLimit, "{} ms until the death was reported",
                (now_ns() - start) / kMillisecond);
        (void)duofiP2pCommAbort(member.comm());
    });
}

TEST(P2pNet, ADeadRankOfAnotherNodeIsReported_V29) {
    GroupOptions options = p2p_options({3, 1});
    options.args["nodes"] = "3";
    options.args["nets"] = "1";
    options.ends[1] = RankEnd::killed;
    run_group("p2p_net_death", options);
}

/// Rank 0 gives up while rank 1 waits for it over the network.
DUOFI_RANK_BODY(p2p_net_abort) {
    become_node(rank);
    run_members(rank, [&](P2pMember& member) {
        std::vector<std::int32_t> data(5000, 1);
        const auto operation = [&] { return largest_of_all(member, data); };
        for (int i = 0; i < 5; ++i) member.require_success(operation(), "all-reduce");
        rank.barrier();  // the last of them is over for both
        const Nanoseconds start = now_ns();
        if (member.rank() != 0) {
            require(operation() == ncclRemoteError, "an operation without rank 0 succeeds");
            require(now_ns() - start < kFarDeathLimit, "{} ms until the abort was noticed",
                    (now_ns() - start) / kMillisecond);
        }
        (void)duofiP2pCommAbort(member.comm());
    });
}

TEST(P2pNet, AnAbortOnOneNodeEndsTheWaitsOnAnother_V30) {
    GroupOptions options = p2p_options({2, 1});
    options.args["nodes"] = "2";
    run_group("p2p_net_abort", options);
}

/// Ranks in network and process namespaces of their own, as in containers.
void run_apart(const std::string& body, bool own_pids, GroupOptions options) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    options.args["host"] = "10.77.0.1";
    for (int side = 0; side < 2; ++side) options.prefixes.push_back(nodes.prefix(side, own_pids));
    run_group(body, options);
}

TEST(P2pNetNodes, RealNetworksBetweenThem_C61) {
    GroupOptions options = p2p_options({2, 2});
    options.args["nodes"] = "2";
    options.args["seed"] = "37";
    run_apart("p2p_net_operations", false, options);
}

DUOFI_RANK_BODY(p2p_net_containers) {
    run_members(rank, [&](P2pMember& member) {
        member.require_success(duofiP2pConnectAll(member.comm()), "connect");
        for (int peer = 0; peer < member.size(); ++peer) {
            if (peer == member.rank()) continue;
            const bool near = peer / 2 == member.rank() / 2;
            const std::string text = edge_to(member, peer);
            require(text == (near ? "P2P/direct pointer" : "NET_NEURON"), "edge {} -> {}: {}",
                    member.rank(), peer, text);
        }
        run_seeded_operations(member, 38, 15);
    });
}

/// They share a kernel and a host name, yet neither /proc nor a socket leads from one to the other.
TEST(P2pNetNodes, ContainersFallToTheNetwork_V34) {
    run_apart("p2p_net_containers", true, p2p_options({2, 2}));
}

/// Ring 0-1-2-3, rank 3 elsewhere: only its neighbours meet its death, and rank 1 hears of it through the memory of those.
TEST(P2pNetNodes, ADeathIsPassedOnToRanksThatHaveNoNetworkEdge_V29) {
    const JoinedNamespaces nodes;
    if (!nodes.problem().empty()) GTEST_SKIP() << nodes.problem();
    GroupOptions options = p2p_options({4, 1});
    options.args["host"] = "10.77.0.1";
    options.args["victim"] = "3";
    for (int rank = 0; rank < 4; ++rank) options.prefixes.push_back(nodes.prefix(rank == 3 ? 1 : 0, rank == 3));
    options.ends[3] = RankEnd::any;
    run_group("p2p_net_death", options);
}

/// No process of ours can see the dead one.
TEST(P2pNetNodes, ADeathThatOnlyTheNetworkShows_V29) {
    GroupOptions options = p2p_options({2, 1});
    options.args["nets"] = "1";
    options.ends[1] = RankEnd::any;  // its namespace ends with it, and says so with a number
    run_apart("p2p_net_death", true, options);
}

}  // namespace
}  // namespace duofi::test
