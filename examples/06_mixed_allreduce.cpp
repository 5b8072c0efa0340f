// The same all-reduce of four processes three times: over shared memory only, over the network only,
// and mixed, as on two nodes of two ranks. Nothing changes but two variables; each edge finds its
// own way, and the sums are the same.
//
//   ./06_mixed_allreduce          NCCL_DEBUG=INFO ./06_mixed_allreduce shows each edge
//
// The network is the net plugin of this project, which lies beside the library, or the one that
// NCCL_NET_PLUGIN names.
#include <cstdio>
#include <string>
#include <vector>

#include "common/bootstrap/local_spawn.hpp"
#include "common/util/settings.hpp"
#include "p2p/p2p.h"

namespace {

using namespace duofi;

constexpr int kRanks = 4;
constexpr int kRounds = 10;
constexpr std::size_t kElements = 250'000;
constexpr int kPatienceMs = 30'000;

/// How the ranks are told apart. Set before a communicator is made.
struct Way {
    const char* name;
    bool p2p;           ///< NCCL_P2P_DISABLE unset
    int ranks_per_node; ///< NCCL_HOSTID is another one for each node
    const char* edges[2];  ///< how ranks 0 and 1 reach the next one
};
constexpr Way kWays[] = {
    {"P2P only", true, kRanks, {"P2P/IPC", "P2P/IPC"}},
    {"NET only", false, kRanks, {"NET_NEURON", "NET_NEURON"}},
    {"mixed", true, 2, {"P2P/IPC", "NET_NEURON"}},
};

void choose(const Way& way, int rank) {
    if (!way.p2p) set_environment_default("NCCL_P2P_DISABLE", "1");
    const std::string node = "node" + std::to_string(rank / way.ranks_per_node);
    set_environment_default("NCCL_HOSTID", node.c_str());
}

bool fine(ncclResult_t result, const char* what, int rank, const duofiP2pComm* comm) {
    if (result == ncclSuccess) return true;
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, duofiP2pGetLastError(comm));
    return false;
}

float element(int rank, std::size_t i) {
    return static_cast<float>((static_cast<std::size_t>(rank) * 3 + i) % 17);
}

/// Returns the mean time of one operation in microseconds, or a negative number.
double add_up(duofiP2pComm* comm, int rank) {
    std::vector<float> mine(kElements), sum(kElements);
    for (std::size_t i = 0; i < kElements; ++i) mine[i] = element(rank, i);
    const auto all_reduce = [&] {
        return fine(duofiP2pAllReduce(mine.data(), sum.data(), kElements, duofiP2pFloat32,
                                      duofiP2pSum, comm),
                    "all-reduce", rank, comm);
    };
    if (!all_reduce()) return -1;  // connects
    const Nanoseconds start = now_ns();
    for (int round = 0; round < kRounds; ++round)
        if (!all_reduce()) return -1;
    const Nanoseconds took = now_ns() - start;
    for (std::size_t i = 0; i < kElements; ++i) {
        float expected = 0;
        for (int r = 0; r < kRanks; ++r) expected += element(r, i);
        if (sum[i] == expected) continue;
        std::fprintf(stderr, "rank %d: element %zu is wrong\n", rank, i);
        return -1;
    }
    return static_cast<double>(took) / 1e3 / kRounds;
}

/// The edge is the one that this way is about.
bool right_edge(const Way& way, duofiP2pComm* comm, int rank, std::string& edge) {
    const char* text = "";
    if (!fine(duofiP2pEdge(comm, (rank + 1) % kRanks, &text), "edge", rank, comm)) return false;
    edge = text;
    if (edge == way.edges[rank % 2]) return true;
    std::fprintf(stderr, "rank %d: %s: next rank by %s, expected %s\n", rank, way.name, text,
                 way.edges[rank % 2]);
    return false;
}

int run(const Way& way, int rank, int port) {
    choose(way, rank);
    duofiP2pBootstrap bootstrap;
    duofiP2pComm* comm = nullptr;
    const auto reached =
        duofiP2pBootstrapTcp("127.0.0.1", port, rank, kRanks, kPatienceMs, &bootstrap);
    if (!fine(reached, "bootstrap", rank, nullptr)) return 1;
    if (!fine(duofiP2pCommCreate(&comm, &bootstrap, nullptr), "create", rank, nullptr)) return 1;
    std::string edge;
    const double time = add_up(comm, rank);
    bool right = time >= 0 && right_edge(way, comm, rank, edge);
    if (right)
        std::printf("%-8s  rank %d: %zu floats in %7.0f us, next rank by %s\n", way.name, rank,
                    kElements, time, edge.c_str());
    std::fflush(stdout);
    if (!right) (void)duofiP2pCommAbort(comm);
    right = fine(duofiP2pCommDestroy(comm), "destroy", rank, nullptr) && right;
    return fine(duofiP2pBootstrapFree(&bootstrap), "free", rank, nullptr) && right ? 0 : 1;
}

}  // namespace

int main() {
    for (const Way& way : kWays) {
        const auto port = bootstrap::free_port();
        if (!port) return 1;
        bootstrap::SpawnRequest request;
        request.size = kRanks;
        request.root_port = *port;
        request.timeout = 60 * kSecond;
        const auto outcome =
            bootstrap::run_ranks(request, [&](int rank) { return run(way, rank, *port); });
        if (!outcome) return 1;
        std::printf("%-8s  %s\n", way.name, outcome->summary().c_str());
        if (!outcome->ok()) return 1;
    }
    return 0;
}
