// All operations end to end, ranks as processes, threads and both (V-20, V-21), and the end of one
// rank in the middle of traffic (V-29).
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "common/util/clock.hpp"
#include "tests/integration/integration.hpp"
#include "tests/integration/p2p_ranks.hpp"

namespace duofi::test {
namespace {

DUOFI_RANK_BODY(p2p_operations) {
    const auto seed = static_cast<std::uint64_t>(rank.number("seed", 1));
    run_members(rank, [&](P2pMember& member) {
        run_seeded_operations(member, seed, rank.number("full", 0) != 0 ? 400 : 40);
    });
}

void run_mix(const Mix& mix, int seed, const std::map<std::string, std::string>& env = {}) {
    GroupOptions options = p2p_options(mix, env);
    options.args["seed"] = std::to_string(seed);
    run_group("p2p_operations", options);
}

TEST(P2pCollectives, MixesOfProcessesAndThreads_V20_V21) {
    for (const Mix mix : {Mix{1, 4}, {2, 2}, {4, 1}, {2, 3}, {2, 1}}) {
        SCOPED_TRACE(std::to_string(mix.processes) + " processes of " +
                     std::to_string(mix.threads));
        run_mix(mix, mix.processes * 10 + mix.threads);
    }
}

TEST(P2pCollectives, EachProtocolAlone_V20) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
        SCOPED_TRACE(protocol);
        run_mix({2, 2}, 7, {{"NCCL_PROTO", protocol}});
    }
}

TEST(P2pCollectives, ReadModeChannelsAndCheckedSizes_V20) {
    run_mix({2, 2}, 8, {{"NCCL_P2P_READ_ENABLE", "1"}, {"NCCL_PROTO", "Simple"}});
    run_mix({3, 1}, 9, {{"DUOFI_P2P_CHANNELS", "3"}, {"DUOFI_P2P_DEBUG_SIZES", "1"}});
    run_mix({1, 3}, 10, {{"NCCL_P2P_DIRECT_DISABLE", "1"}});
}

TEST(P2pCollectives, EightRanks_V20_V41) {
    run_mix({4, 2}, 11);
    if (full_tier())
        for (int ranks = 2; ranks <= 8; ++ranks) run_mix({ranks, 1}, 20 + ranks);
}

std::string list_of_survivors(const std::string& port) {
    return testing::TempDir() + "duofi_p2p_survivors_" + port;
}

/// Who leaves at once looks dead to the others, and their watch may hear of both at the same time.
void leave_together(const std::string& list, std::uintmax_t survivors) {
    std::ofstream(list, std::ios::app) << '.';
    const Deadline deadline(10 * kSecond);
    std::error_code ignored;
    while (std::filesystem::file_size(list, ignored) != survivors && !deadline.passed())
        std::this_thread::yield();
}

/// Rank 1 dies between two operations of a stream; the others are inside one.
DUOFI_RANK_BODY(p2p_death) {
    run_members(rank, [&](P2pMember& member) {
        std::vector<std::int32_t> data(5000, 1);
        const auto operation = [&] {
            return duofiP2pAllReduce(data.data(), data.data(), data.size(), duofiP2pInt32,
                                     duofiP2pMax, member.comm());
        };
        for (int i = 0; i < 30; ++i) member.require_success(operation(), "all-reduce");
        if (member.rank() == 1) ::kill(::getpid(), SIGKILL);
        const Nanoseconds start = now_ns();
        ncclResult_t result = ncclSuccess;
        while (result == ncclSuccess && now_ns() - start < 20 * kSecond) result = operation();
        const Nanoseconds took = now_ns() - start;
        require(result == ncclRemoteError, "result {}: {}", static_cast<int>(result),
                duofiP2pGetLastError(member.comm()));
        require(took < kSecond, "{} ms until the death was reported", took / kMillisecond);
        ncclResult_t error = ncclSuccess;
        int dead = -1;
        member.require_success(duofiP2pCommGetAsyncError(member.comm(), &error, &dead),
                               "async error");
        require(error == ncclRemoteError && dead == 1, "error {}, dead rank {}",
                static_cast<int>(error), dead);
        leave_together(list_of_survivors(std::to_string(rank.number("port", 0))), 2);
        (void)duofiP2pCommAbort(member.comm());
    });
}

TEST(P2pDeath, SurvivorsLearnOfADeadRankWithinASecond_V29) {
    GroupOptions options = p2p_options({3, 1});
    options.ends[1] = RankEnd::killed;
    const std::string list = list_of_survivors(options.args["port"]);
    std::filesystem::remove(list);
    run_group("p2p_death", options);
    std::filesystem::remove(list);
}

}  // namespace
}  // namespace duofi::test
