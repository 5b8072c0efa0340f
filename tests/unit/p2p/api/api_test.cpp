// The C interface: arguments, results, texts.
// Units: p2p/api, p2p/api_operations, p2p/last_error, p2p/protocol_names.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "p2p/abi.h"
#include "p2p/p2p.h"

namespace {

using Body = std::function<void(duofiP2pComm*, int)>;

/// Runs `body` on a communicator of each of `ranks` threads.
void with_ranks(int ranks, const Body& body,
                const std::function<void(duofiP2pConfig&)>& change = {}) {
    std::vector<duofiP2pBootstrap> bootstraps(static_cast<std::size_t>(ranks));
    ASSERT_EQ(duofiP2pBootstrapThreads(ranks, bootstraps.data()), ncclSuccess);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            duofiP2pConfig config;
            ASSERT_EQ(duofiP2pConfigInit(&config), ncclSuccess);
            if (change) change(config);
            duofiP2pComm* comm = nullptr;
            ASSERT_EQ(
                duofiP2pCommCreate(&comm, &bootstraps[static_cast<std::size_t>(rank)], &config),
                ncclSuccess)
                << duofiP2pGetLastError(nullptr);
            body(comm, rank);
            EXPECT_EQ(duofiP2pCommDestroy(comm), ncclSuccess);
        });
    for (std::thread& thread : threads) thread.join();
    for (duofiP2pBootstrap& bootstrap : bootstraps)
        EXPECT_EQ(duofiP2pBootstrapFree(&bootstrap), ncclSuccess);
}

TEST(P2pApi, all_operations_once) {
    with_ranks(3, [](duofiP2pComm* comm, int rank) {
        std::int64_t in[3] = {rank, 10 + rank, 20 + rank};
        std::int64_t out[9] = {};
        ASSERT_EQ(duofiP2pAllReduce(in, out, 3, duofiP2pInt64, duofiP2pMax, comm), ncclSuccess);
        EXPECT_EQ(out[0], 2);
        EXPECT_EQ(out[2], 22);
        ASSERT_EQ(duofiP2pAllGather(in, out, 3, duofiP2pInt64, comm), ncclSuccess);
        for (int i = 0; i < 9; ++i) EXPECT_EQ(out[i], i % 3 * 10 + i / 3);
        ASSERT_EQ(duofiP2pReduceScatter(in, out, 1, duofiP2pInt64, duofiP2pSum, comm), ncclSuccess);
        EXPECT_EQ(out[0], 3 + 30 * rank);
        std::int64_t word = rank == 1 ? 99 : 0;
        ASSERT_EQ(duofiP2pBroadcast(&word, &word, 1, duofiP2pInt64, 1, comm), ncclSuccess);
        EXPECT_EQ(word, 99);
        ASSERT_EQ(duofiP2pAllToAll(in, out, 1, duofiP2pInt64, comm), ncclSuccess);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(out[i], 10 * rank + i);
        const int next = (rank + 1) % 3, previous = (rank + 2) % 3;
        ASSERT_EQ(duofiP2pSendRecv(in, 3, next, out, 3, previous, duofiP2pInt64, comm),
                  ncclSuccess);
        EXPECT_EQ(out[1], 10 + previous);
        if (rank == 0) {
            EXPECT_EQ(duofiP2pSend(in, 3, duofiP2pInt64, 2, comm), ncclSuccess);
        }
        if (rank == 2) {
            EXPECT_EQ(duofiP2pRecv(out, 3, duofiP2pInt64, 0, comm), ncclSuccess);
            EXPECT_EQ(out[2], 20);
        }
        const char* text = nullptr;
        ASSERT_EQ(duofiP2pEdge(comm, next, &text), ncclSuccess);
        EXPECT_STREQ(text, "P2P/direct pointer");
    });
}

TEST(P2pApi, bad_arguments_are_named_and_harm_nothing) {
    with_ranks(2, [](duofiP2pComm* comm, int rank) {
        float data[8] = {};
        const auto huge = std::numeric_limits<std::size_t>::max() / 2;
        const auto f = duofiP2pFloat32;
        const struct {
            ncclResult_t result;
            const char* text;
        } refusals[] = {
            {duofiP2pAllReduce(nullptr, data, 1, f, duofiP2pSum, comm), "a buffer is NULL"},
            {duofiP2pAllReduce(data, nullptr, 1, f, duofiP2pSum, comm), "a buffer is NULL"},
            {duofiP2pAllReduce(data, data, huge, f, duofiP2pSum, comm), "more elements than"},
            {duofiP2pAllReduce(data, data, 1, static_cast<duofiP2pDataType>(99), duofiP2pSum, comm),
             "unknown data type"},
            {duofiP2pAllReduce(data, data, 1, f, static_cast<duofiP2pRedOp>(1), comm),
             "unknown reduction"},
            {duofiP2pBroadcast(data, data, 1, f, 2, comm), "no such root"},
            {duofiP2pBroadcast(data, data, 1, f, -1, comm), "no such root"},
            {duofiP2pAllToAll(nullptr, data, 1, f, comm), "a buffer is NULL"},
            {duofiP2pSend(data, 1, f, 2, comm), "no such rank"},
            {duofiP2pSend(data, 1, f, -1, comm), "no such rank"},
            {duofiP2pRecv(nullptr, 1, f, 1 - rank, comm), "a buffer is NULL"},
        };
        for (const auto& one : refusals) EXPECT_EQ(one.result, ncclInvalidArgument) << one.text;
        EXPECT_NE(std::strstr(duofiP2pGetLastError(comm), "a buffer is NULL"), nullptr)
            << duofiP2pGetLastError(comm);
        EXPECT_EQ(duofiP2pSendRecv(data, 2, rank, data, 1, rank, f, comm), ncclInvalidUsage);
        EXPECT_NE(std::strstr(duofiP2pGetLastError(comm), "to oneself"), nullptr)
            << duofiP2pGetLastError(comm);
        EXPECT_EQ(duofiP2pAllReduce(data, data, 8, f, duofiP2pSum, comm), ncclSuccess);
    });
    duofiP2pBootstrap bootstrap;
    duofiP2pComm* comm = nullptr;
    EXPECT_EQ(duofiP2pCommCreate(&comm, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_NE(std::strstr(duofiP2pGetLastError(nullptr), "NULL"), nullptr);
    EXPECT_EQ(duofiP2pBootstrapThreads(0, &bootstrap), ncclInvalidArgument);
    EXPECT_EQ(duofiP2pBootstrapTcp(nullptr, 1, 0, 1, 1, &bootstrap), ncclInvalidArgument);
    EXPECT_EQ(duofiP2pBootstrapTcp("127.0.0.1", 0, 0, 2, 1, &bootstrap), ncclInvalidArgument);
    EXPECT_EQ(duofiP2pBootstrapFree(nullptr), ncclSuccess);
    EXPECT_EQ(duofiP2pCommDestroy(nullptr), ncclSuccess);
    EXPECT_EQ(duofiP2pConnectRing(nullptr), ncclInvalidArgument);
    EXPECT_EQ(duofiP2pCommAbort(nullptr), ncclInvalidArgument);
}

TEST(P2pApi, a_bootstrap_must_be_whole) {
    duofiP2pBootstrap bootstrap;
    ASSERT_EQ(duofiP2pBootstrapThreads(1, &bootstrap), ncclSuccess);
    duofiP2pBootstrap broken = bootstrap;
    broken.recv = nullptr;
    broken.send = nullptr;
    auto* comm = reinterpret_cast<duofiP2pComm*>(&broken);
    EXPECT_EQ(duofiP2pCommCreate(&comm, &broken, nullptr), ncclInvalidArgument);
    EXPECT_EQ(comm, nullptr) << "nothing to destroy by mistake";
    EXPECT_NE(std::strstr(duofiP2pGetLastError(nullptr), "incomplete"), nullptr);
    duofiP2pConfig config;
    ASSERT_EQ(duofiP2pConfigInit(&config), ncclSuccess);
    config.version = 9;
    EXPECT_EQ(duofiP2pCommCreate(&comm, &bootstrap, &config), ncclInvalidArgument);
    config.version = DUOFI_P2P_CONFIG_VERSION;
    config.buffSize[0] = -1;
    EXPECT_EQ(duofiP2pCommCreate(&comm, &bootstrap, &config), ncclInvalidArgument);
    config.buffSize[0] = 0;
    config.timeoutMs = -1;
    EXPECT_EQ(duofiP2pCommCreate(&comm, &bootstrap, &config), ncclInvalidArgument);
    EXPECT_NE(std::strstr(duofiP2pGetLastError(nullptr), "time"), nullptr);
    EXPECT_EQ(comm, nullptr);
    EXPECT_EQ(duofiP2pBootstrapFree(&bootstrap), ncclSuccess);
}

TEST(P2pApi, an_aborted_communicator_only_ends) {
    with_ranks(2, [](duofiP2pComm* comm, int) {
        ASSERT_EQ(duofiP2pConnectAll(comm), ncclSuccess);
        ASSERT_EQ(duofiP2pCommAbort(comm), ncclSuccess);
        float word = 0;
        EXPECT_EQ(duofiP2pAllReduce(&word, &word, 1, duofiP2pFloat32, duofiP2pSum, comm),
                  ncclRemoteError);
        EXPECT_NE(std::strstr(duofiP2pGetLastError(comm), "was aborted"), nullptr);
        ncclResult_t error = ncclSuccess;
        int dead = 5;
        EXPECT_EQ(duofiP2pCommGetAsyncError(comm, &error, &dead), ncclSuccess);
        EXPECT_EQ(error, ncclRemoteError);
        EXPECT_EQ(dead, -1);
    });
}

std::atomic<int> logged{0};

void logger(ncclDebugLogLevel, unsigned long, const char*, int, const char* format, ...) {
    if (std::strcmp(format, "%s") == 0) ++logged;
}

TEST(P2pApi, lines_go_to_the_callers_logger) {
    with_ranks(
        2, [](duofiP2pComm* comm, int) { EXPECT_EQ(duofiP2pConnectRing(comm), ncclSuccess); },
        [](duofiP2pConfig& config) { config.logger = &logger; });
    EXPECT_GE(logged, 4) << "a line per rank and one per edge";
}

TEST(P2pApi, memory_of_the_runtime) {
    with_ranks(2, [](duofiP2pComm* comm, int rank) {
        void* memory = nullptr;
        ASSERT_EQ(duofiP2pMemAlloc(&memory, 100000), ncclSuccess);
        auto* words = static_cast<std::int32_t*>(memory);
        EXPECT_EQ(words[24999], 0);
        words[0] = rank + 1;
        EXPECT_EQ(duofiP2pAllReduce(words, words, 1, duofiP2pInt32, duofiP2pSum, comm),
                  ncclSuccess);
        EXPECT_EQ(words[0], 3);
        EXPECT_EQ(duofiP2pMemFree(memory), ncclSuccess);
        EXPECT_NE(duofiP2pMemFree(&rank), ncclSuccess);
        EXPECT_EQ(duofiP2pMemAlloc(nullptr, 1), ncclInvalidArgument);
        EXPECT_EQ(duofiP2pMemAlloc(&memory, 0), ncclInvalidArgument);
    });
    void* memory = nullptr;
    EXPECT_NE(duofiP2pMemAlloc(&memory, 1), ncclSuccess) << "no communicator, no runtime";
}

TEST(P2pApi, the_tables_are_visible_from_outside) {  // V-1
    EXPECT_EQ(ncclTransports[0], &p2pTransport);
    EXPECT_EQ(std::memcmp(&p2pTransport, "P2P\0", 4), 0);
    EXPECT_EQ(p2pTransport.send.proxy, nullptr);
    EXPECT_NE(std::strstr(duofiP2pVersion(), "duofi "), nullptr);
}

}  // namespace
