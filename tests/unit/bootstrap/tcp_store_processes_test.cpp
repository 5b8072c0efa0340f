// The store between real processes: many ranks, a killed rank.
// Units: common/bootstrap/session, common/bootstrap/tcp_store.
#include <gtest/gtest.h>

#include <csignal>

#include "common/bootstrap/local_spawn.hpp"
#include "common/bootstrap/tcp_store.hpp"

namespace duofi::bootstrap::test {
namespace {

Deadline soon() {
    return Deadline(30 * kSecond);
}

Result<Session> session_of_this_rank() {
    auto facts = launch_facts();
    if (!facts) return tl::unexpected(facts.error());
    return open_session(*facts, soon());
}

SpawnRequest request(int size) {
    SpawnRequest made;
    made.size = size;
    made.timeout = 60 * kSecond;
    auto port = free_port();
    EXPECT_TRUE(port);
    made.root_port = *port;
    return made;
}

/// Distinct exit codes say which step failed.
int gather_and_barrier(int rank) {
    auto session = session_of_this_rank();
    if (!session) return 10;
    for (int round = 0; round < 20; ++round) {
        const std::string mine = std::to_string(round) + "/" + std::to_string(rank);
        auto all = session->store->gather("addresses", as_value(mine), soon());
        if (!all || all->size() != 8) return 11;
        for (int peer = 0; peer < 8; ++peer)
            if (as_text((*all)[static_cast<std::size_t>(peer)]) !=
                std::to_string(round) + "/" + std::to_string(peer))
                return 12;
        if (!session->store->barrier("round", soon())) return 13;
    }
    return 0;
}

TEST(TcpStoreProcesses, eight_ranks_gather_and_meet) {
    auto outcome = run_ranks(request(8), gather_and_barrier);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->ok()) << outcome->summary();
}

TEST(TcpStoreProcesses, a_killed_rank_fails_every_wait_and_is_named) {
    const auto body = [](int rank) {
        std::signal(SIGTERM,
                    SIG_IGN);  // the parent ends the others; they are to finish by themselves
        auto session = session_of_this_rank();
        if (!session || !session->store->barrier("all here", soon())) return 10;
        if (rank == 2) ::raise(SIGKILL);
        const Status barrier = session->store->barrier("never complete", soon());
        if (barrier || barrier.error().code != Errc::remote) return 11;
        const auto& store = dynamic_cast<const TcpStore&>(*session->store);
        if (rank != 0 && store.dead_rank() == 0) return 0;  // rank 0 and its store went first
        return store.dead_rank() == 2 ? 0 : 12;
    };
    SpawnRequest made = request(4);
    made.kill_grace = 30 * kSecond;
    auto outcome = run_ranks(made, body);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->first_failed, 2);
    EXPECT_EQ(outcome->ranks[2].signal_number, SIGKILL);
    for (const int rank : {0, 1, 3})
        EXPECT_EQ(outcome->ranks[static_cast<std::size_t>(rank)].exit_code, 0) << rank;
}

TEST(TcpStoreProcesses, a_session_of_one_needs_no_port) {
    LaunchFacts facts;
    auto session = open_session(facts, soon());
    ASSERT_TRUE(session);
    EXPECT_TRUE(session->store->barrier("alone", soon()));
    facts.size = 2;
    auto refused = open_session(facts, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace duofi::bootstrap::test
