// The C interface between processes that meet over TCP: V-35, ranks with different settings.
// Units: p2p/api, p2p/api_bootstrap.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "p2p/p2p.h"
#include "tests/support/scoped_env.hpp"
#include "tests/unit/p2p/api/processes.hpp"

namespace duofi::p2p::test {
namespace {

constexpr int kPatienceMs = 30000;

int sum_once(duofiP2pComm* comm) {
    std::int32_t word = 1;
    int size = 0;
    RANK_REQUIRE(duofiP2pCommSize(comm, &size) == ncclSuccess);
    RANK_REQUIRE(duofiP2pAllReduce(&word, &word, 1, duofiP2pInt32, duofiP2pSum, comm) ==
                 ncclSuccess);
    RANK_REQUIRE(word == size);
    return 0;
}

/// A child must be told no, whatever it does with what its parent opened.
int misuse(duofiP2pBootstrap meeting, duofiP2pComm* parents) {
    RANK_REQUIRE(duofiP2pConnectAll(parents) == ncclInvalidUsage);
    duofiP2pComm* comm = nullptr;
    RANK_REQUIRE(duofiP2pCommCreate(&comm, &meeting, nullptr) != ncclSuccess);
    std::byte word[4] = {};
    RANK_REQUIRE(meeting.send(meeting.context, 0, 64, word, sizeof(word), "child", kPatienceMs) !=
                 ncclSuccess);
    RANK_REQUIRE(duofiP2pCommDestroy(parents) == ncclSuccess);
    RANK_REQUIRE(duofiP2pBootstrapFree(&meeting) == ncclSuccess);
    return 0;
}

TEST(UserProcesses, a_forked_child_does_not_touch_the_exchange) {  // V-35, T-12
    const auto port = bootstrap::free_port();
    ASSERT_TRUE(port);
    run_processes(2, [&](int rank) {
        duofiP2pBootstrap meeting;
        RANK_REQUIRE(duofiP2pBootstrapTcp("127.0.0.1", *port, rank, 2, kPatienceMs, &meeting) ==
                     ncclSuccess);
        duofiP2pComm* comm = nullptr;
        RANK_REQUIRE(duofiP2pCommCreate(&comm, &meeting, nullptr) == ncclSuccess);
        if (const int wrong = sum_once(comm); wrong != 0) return wrong;
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            ::_exit(misuse(meeting, comm));
        }
        int status = -1;
        RANK_REQUIRE(::waitpid(child, &status, 0) == child);
        RANK_REQUIRE(status == 0);
        if (const int wrong = sum_once(comm); wrong != 0) return wrong;
        RANK_REQUIRE(duofiP2pCommDestroy(comm) == ncclSuccess);
        // The exchange still works as well.
        RANK_REQUIRE(duofiP2pCommCreate(&comm, &meeting, nullptr) == ncclSuccess);
        if (const int wrong = sum_once(comm); wrong != 0) return wrong;
        RANK_REQUIRE(duofiP2pCommDestroy(comm) == ncclSuccess);
        RANK_REQUIRE(duofiP2pBootstrapFree(&meeting) == ncclSuccess);
        return 0;
    });
}

TEST(UserProcesses, different_protocols_are_told_at_once) {  // never a hang in a kernel
    const auto port = bootstrap::free_port();
    ASSERT_TRUE(port);
    run_processes(2, [&](int rank) {
        const duofi::test::ScopedEnv protocols("NCCL_PROTO", rank == 0 ? "LL" : "Simple");
        duofiP2pBootstrap meeting;
        RANK_REQUIRE(duofiP2pBootstrapTcp("127.0.0.1", *port, rank, 2, kPatienceMs, &meeting) ==
                     ncclSuccess);
        duofiP2pComm* comm = nullptr;
        RANK_REQUIRE(duofiP2pCommCreate(&comm, &meeting, nullptr) == ncclInvalidUsage);
        RANK_REQUIRE(std::strstr(duofiP2pGetLastError(nullptr), "set of protocols") != nullptr);
        RANK_REQUIRE(duofiP2pBootstrapFree(&meeting) == ncclSuccess);
        return 0;
    });
}

}  // namespace
}  // namespace duofi::p2p::test
