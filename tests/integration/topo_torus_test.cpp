// Ranks in processes on a made-up Neuron instance: each pair is carried as the torus says, and data go right over
// relays and network edges alike (V-19, V-23, V-24).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/integration/integration.hpp"
#include "tests/integration/p2p_ranks.hpp"

namespace duofi::test {
namespace {

constexpr int kSide = 4;

int links_between(int a, int b) {
    const auto along = [](int x, int y) {
        const int step = std::abs(x - y);
        return std::min(step, kSide - step);
    };
    return along(a / kSide, b / kSide) + along(a % kSide, b % kSide);
}

std::string expected_edge(int from, int to, int threads, bool relays) {
    const int links = links_between(from, to);
    if (links == 2 && relays) return "P2P/indirect";
    if (links > 1) return "NET";
    return from / threads == to / threads ? "P2P/direct pointer" : "P2P/IPC";
}

DUOFI_RANK_BODY(topo_torus) {
    const int threads = rank.number("threads", 1);
    const bool relays = rank.number("relays", 1) != 0;
    run_members(rank, [&](P2pMember& member) {
        member.require_success(duofiP2pConnectAll(member.comm()), "connect");
        for (int peer = 0; peer < member.size(); ++peer) {
            if (peer == member.rank()) continue;
            const char* text = "";
            member.require_success(duofiP2pEdge(member.comm(), peer, &text), "edge");
            const std::string wanted = expected_edge(member.rank(), peer, threads, relays);
            require(std::string(text).rfind(wanted, 0) == 0, "rank {} to {}: by {}, expected {}",
                    member.rank(), peer, text, wanted);
        }
        run_seeded_operations(member, 77, rank.number("full", 0) != 0 ? 200 : 20);
    });
}

void run_on(const std::string& machine, const Mix& mix, std::map<std::string, std::string> env = {}) {
    env["DUOFI_P2P_RUNTIME"] = "sim";
    env["DUOFI_P2P_SIM"] = "topo=" + machine;
    GroupOptions options = p2p_options(mix, env);
    options.args["devices"] = "1";
    options.args["relays"] = env.contains("NCCL_NVB_DISABLE") ? "0" : "1";
    run_group("topo_torus", options);
}

TEST(TopoTorus, RelaysBetweenProcesses_V23) {
    run_on("trn1:4", {4, 1});
    run_on("trn1:4", {2, 2}, {{"NCCL_P2P_READ_ENABLE", "1"}});
}

TEST(TopoTorus, RelaysAndNetworkEdgesTogether_V24) {
    run_on("trn1:8", {4, 2});
}

TEST(TopoTorus, WithoutRelaysTheNetworkTakesOver_V24) {
    run_on("trn1:4", {4, 1}, {{"NCCL_NVB_DISABLE", "1"}});
}

}  // namespace
}  // namespace duofi::test
