// Four processes in a ring over shared memory: every rank adds up a vector with all others
// (all-reduce), then a token goes once around. After connecting, no rank makes a system call for a
// message: data and counters lie in memory that both neighbours map.
//
//   ./05_p2p_ring          NCCL_DEBUG=INFO ./05_p2p_ring shows how the ranks reach each other
//
// Only p2p/p2p.h is needed, a plain C header; here the ranks are started with this project's
// helper.
#include <cstdio>
#include <vector>

#include "common/bootstrap/local_spawn.hpp"
#include "p2p/p2p.h"

namespace {

using namespace duofi;

constexpr int kRanks = 4;
constexpr int kRounds = 20;
constexpr std::size_t kElements = 100'000;
constexpr int kPatienceMs = 30'000;

/// What went wrong is in the text of the communicator, or of the thread while there is none.
bool fine(ncclResult_t result, const char* what, int rank, const duofiP2pComm* comm) {
    if (result == ncclSuccess) return true;
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, duofiP2pGetLastError(comm));
    return false;
}

/// Element i of rank r in a round: small integers, so that every sum is exact.
float element(int rank, int round, std::size_t i) {
    return static_cast<float>((static_cast<std::size_t>(rank * 3 + round) + i) % 17);
}

bool add_up(duofiP2pComm* comm, int rank) {
    std::vector<float> mine(kElements), sum(kElements);
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < kElements; ++i) mine[i] = element(rank, round, i);
        const ncclResult_t result = duofiP2pAllReduce(mine.data(), sum.data(), kElements,
                                                      duofiP2pFloat32, duofiP2pSum, comm);
        if (!fine(result, "all-reduce", rank, comm)) return false;
        for (std::size_t i = 0; i < kElements; ++i) {
            float expected = 0;
            for (int r = 0; r < kRanks; ++r) expected += element(r, round, i);
            if (sum[i] == expected) continue;
            std::fprintf(stderr, "rank %d: element %zu is wrong\n", rank, i);
            return false;
        }
    }
    return true;
}

/// Each rank writes its number into the token and passes it on.
bool pass_token(duofiP2pComm* comm, int rank) {
    std::vector<int> token(kRanks, -1);
    const int next = (rank + 1) % kRanks, previous = (rank + kRanks - 1) % kRanks;
    const auto receive = [&] {
        const auto result = duofiP2pRecv(token.data(), kRanks, duofiP2pInt32, previous, comm);
        return fine(result, "recv", rank, comm);
    };
    if (rank != 0 && !receive()) return false;
    token[static_cast<std::size_t>(rank)] = rank;
    const auto sent = duofiP2pSend(token.data(), kRanks, duofiP2pInt32, next, comm);
    if (!fine(sent, "send", rank, comm)) return false;
    if (rank != 0) return true;
    if (!receive()) return false;
    for (int r = 0; r < kRanks; ++r)
        if (token[static_cast<std::size_t>(r)] != r) return false;
    return true;
}

int run(int rank, int port) {
    duofiP2pBootstrap bootstrap;
    duofiP2pComm* comm = nullptr;
    const auto reached =
        duofiP2pBootstrapTcp("127.0.0.1", port, rank, kRanks, kPatienceMs, &bootstrap);
    if (!fine(reached, "bootstrap", rank, nullptr)) return 1;
    if (!fine(duofiP2pCommCreate(&comm, &bootstrap, nullptr), "create", rank, nullptr)) return 1;
    bool right = fine(duofiP2pConnectRing(comm), "connect", rank, comm);
    right = right && add_up(comm, rank) && pass_token(comm, rank);
    const char* edge = "";
    if (right) right = fine(duofiP2pEdge(comm, (rank + 1) % kRanks, &edge), "edge", rank, comm);
    std::printf("rank %d: %d all-reduces of %zu floats, one token, next rank by %s: %s\n", rank,
                kRounds, kElements, edge, right ? "right" : "WRONG");
    // Others may still be waiting for this rank: without an abort, destroy waits for them.
    if (!right) (void)duofiP2pCommAbort(comm);
    right = fine(duofiP2pCommDestroy(comm), "destroy", rank, nullptr) && right;
    return fine(duofiP2pBootstrapFree(&bootstrap), "free", rank, nullptr) && right ? 0 : 1;
}

}  // namespace

int main() {
    const auto port = bootstrap::free_port();
    if (!port) return 1;
    bootstrap::SpawnRequest request;
    request.size = kRanks;
    request.root_port = *port;
    request.timeout = 60 * kSecond;
    const auto outcome = bootstrap::run_ranks(request, [&](int rank) { return run(rank, *port); });
    if (!outcome) return 1;
    std::printf("%s\n", outcome->summary().c_str());
    return outcome->ok() ? 0 : 1;
}
