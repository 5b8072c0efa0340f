// The three means of exchange keep their promises: order, no truncation, deadlines.
// Units: p2p/transport/thread_bootstrap, p2p/transport/store_bootstrap, p2p/caller_bootstrap,
// p2p/api_bootstrap.
#include "p2p/transport/bootstrap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "common/bootstrap/local_spawn.hpp"
#include "common/bootstrap/tcp_store.hpp"
#include "p2p/caller_bootstrap.hpp"
#include "p2p/transport/exchange.hpp"
#include "p2p/transport/store_bootstrap.hpp"
#include "p2p/transport/thread_bootstrap.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

constexpr int kRanks = 3;

Deadline soon() {
    return Deadline(20 * kSecond);
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(const Message& message) {
    return {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()};
}

/// What every exchange must do; runs on all ranks.
void converse(Bootstrap& bootstrap) {
    const int rank = bootstrap.rank();
    ASSERT_EQ(bootstrap.size(), kRanks);
    for (std::int64_t round = 0; round < 5; ++round) {
        const std::int64_t mine = 100 * round + rank;
        std::int64_t all[kRanks] = {};
        ASSERT_TRUE(bootstrap.all_gather(std::as_bytes(std::span(&mine, 1)),
                                         std::as_writable_bytes(std::span(all)), "round", soon()));
        for (int peer = 0; peer < kRanks; ++peer) ASSERT_EQ(all[peer], 100 * round + peer);
    }
    // Everybody sends first: 8 KiB do not need the receiver (C-17).
    for (int peer = 0; peer < kRanks; ++peer)
        for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{8192}})
            ASSERT_TRUE(bootstrap.send(peer, static_cast<MessageType>(64 + rank),
                                       bytes_of(std::string(length, static_cast<char>('a' + peer))),
                                       "test", soon()));
    for (int peer = 0; peer < kRanks; ++peer)
        for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{8192}}) {
            const auto message = bootstrap.receive(peer, "test", soon());
            ASSERT_TRUE(message);
            EXPECT_EQ(static_cast<int>(message->type), 64 + peer);
            EXPECT_EQ(text_of(*message), std::string(length, static_cast<char>('a' + rank)));
        }
    EXPECT_FALSE(bootstrap.send(kRanks, MessageType::user, {}, "test", soon()));
    EXPECT_FALSE(bootstrap.send(-1, MessageType::user, {}, "test", soon()));
    EXPECT_FALSE(bootstrap.receive(kRanks, "test", soon()));
    const std::vector<std::byte> too_long(kMaxMessageBytes + 1);
    EXPECT_FALSE(bootstrap.send(0, MessageType::user, too_long, "test", soon()));
}

void on_threads(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(body, rank);
    for (std::thread& thread : threads) thread.join();
}

TEST(ThreadBootstrap, converses) {
    const auto ends = thread_bootstraps(kRanks);
    on_threads([&](int rank) { converse(*ends[static_cast<std::size_t>(rank)]); });
}

TEST(ThreadBootstrap, a_receive_that_timed_out_may_be_repeated) {
    const auto ends = thread_bootstraps(2);
    ASSERT_TRUE(ends[0]->can_repeat());
    const auto nothing = ends[0]->receive(1, "test", Deadline(kMillisecond));
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, Errc::timed_out);
    ASSERT_TRUE(ends[1]->send(0, MessageType::user, bytes_of("late"), "test", soon()));
    const auto message = ends[0]->receive(1, "test", soon());
    ASSERT_TRUE(message);
    EXPECT_EQ(text_of(*message), "late");
}

TEST(ThreadBootstrap, gathers_of_different_lengths_fail) {
    const auto ends = thread_bootstraps(2);
    std::byte block[4] = {};
    ASSERT_TRUE(ends[1]->send(0, MessageType::user, block, "other queue", soon()));
    std::thread other([&] {
        std::byte all[8];
        static_cast<void>(ends[1]->all_gather(block, all, "test", soon()));
    });
    std::byte all[6];
    EXPECT_FALSE(ends[0]->all_gather(std::span(block).first(3), all, "test", soon()));
    other.join();
    EXPECT_FALSE(ends[0]->all_gather(block, all, "wrong room", soon()));
}

TEST(StoreBootstrap, converses) {
    const auto port = bootstrap::free_port();
    ASSERT_TRUE(port);
    on_threads([&](int rank) {
        bootstrap::LaunchFacts facts;
        facts.rank = rank;
        facts.size = kRanks;
        facts.root_port = *port;
        auto session = bootstrap::open_session(facts, soon());
        ASSERT_TRUE(session);
        const auto one = store_bootstrap(*session->store, "one");
        const auto two = store_bootstrap(*session->store, "two");
        converse(*one);
        converse(*two);
        // Nobody leaves while others still ask.
        EXPECT_TRUE(session->store->barrier("end", soon()));
    });
}

TEST(CallerBootstrap, converses_through_the_c_functions) {
    const auto ends = thread_bootstraps(kRanks);
    on_threads([&](int rank) {
        duofiP2pBootstrap functions = as_functions(*ends[static_cast<std::size_t>(rank)]);
        EXPECT_EQ(ready_made(functions), ends[static_cast<std::size_t>(rank)].get());
        const auto caller = caller_bootstrap(functions);
        ASSERT_NE(caller, nullptr);
        converse(*caller);
        const auto nothing = caller->receive(0, "test", Deadline(2 * kMillisecond));
        ASSERT_FALSE(nothing);
        EXPECT_EQ(nothing.error().code, Errc::timed_out);
    });
}

TEST(CallerBootstrap, refuses_what_is_incomplete) {
    const auto ends = thread_bootstraps(1);
    const duofiP2pBootstrap good = as_functions(*ends[0]);
    EXPECT_NE(caller_bootstrap(good), nullptr);
    const auto with = [&](auto change) {
        duofiP2pBootstrap changed = good;
        change(changed);
        return caller_bootstrap(changed);
    };
    EXPECT_EQ(with([](auto& b) { b.version = 0; }), nullptr);
    EXPECT_EQ(with([](auto& b) { b.size = 0; }), nullptr);
    EXPECT_EQ(with([](auto& b) { b.rank = 1; }), nullptr);
    EXPECT_EQ(with([](auto& b) { b.allGather = nullptr; }), nullptr);
    EXPECT_EQ(with([](auto& b) { b.send = nullptr; }), nullptr);
    EXPECT_EQ(with([](auto& b) { b.recv = nullptr; }), nullptr);
}

TEST(Exchange, all_ranks_meet) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        const auto ends = thread_bootstraps(ranks);
        std::atomic<int> here{0};
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank)
            threads.emplace_back([&, rank] {
                ncclComm comm;
                comm.rank = rank;
                comm.n_ranks = ranks;
                comm.bootstrap = ends[static_cast<std::size_t>(rank)].get();
                for (int round = 1; round <= 20; ++round) {
                    ++here;
                    EXPECT_TRUE(meet_all(comm, "test"));
                    EXPECT_GE(here, round * ranks);
                }
            });
        for (std::thread& thread : threads) thread.join();
    }
}

}  // namespace
}  // namespace duofi::p2p::test
