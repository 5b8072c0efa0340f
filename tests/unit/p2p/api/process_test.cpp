// Edges between processes: V-6 through both mappings, V-20 in short, V-35, descriptors after
// connecting. Units: p2p/transport/communicator, p2p/transport/edge.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "p2p/operations.hpp"
#include "p2p/transport/edge.hpp"
#include "tests/unit/p2p/api/processes.hpp"

namespace duofi::p2p::test {
namespace {

CommunicatorOptions options_of_test() {
    CommunicatorOptions options;
    options.settings.p2p_runtime = "host";
    options.timeout = 30 * kSecond;
    return options;
}

/// Waits for all ranks by a word of each.
bool meet_again(Bootstrap& bootstrap) {
    const std::int32_t mine = bootstrap.rank();
    std::vector<std::int32_t> all(static_cast<std::size_t>(bootstrap.size()));
    return bootstrap
        .all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                    "again", Deadline(30 * kSecond))
        .has_value();
}

/// Every word that one end writes through its descriptor lies where the other end's says.
int check_both_mappings(ncclComm& comm, Bootstrap& bootstrap) {
    const int rank = comm.rank;
    const ncclConnInfo* conn = rank == 0   ? &comm.channels[0].peers[1].send.conn
                               : rank == 1 ? &comm.channels[0].peers[0].recv.conn
                                           : nullptr;
    if (rank == 0) {
        *conn->tail = 0x1111;
        for (std::size_t p = 0; p < 3; ++p)
            std::memset(conn->buffs[p], static_cast<int>(p + 1), 64);
        *conn->ptrExchange = nullptr;
    }
    RANK_REQUIRE(meet_again(bootstrap));
    if (rank == 1) {
        RANK_REQUIRE(*conn->tail == 0x1111);
        for (std::size_t p = 0; p < 3; ++p)
            RANK_REQUIRE(conn->buffs[p][63] == static_cast<char>(p + 1));
        *conn->head = 0x2222;
        *conn->ptrExchange = &comm;
    }
    RANK_REQUIRE(meet_again(bootstrap));
    if (rank == 0) {
        RANK_REQUIRE(*conn->head == 0x2222);
        RANK_REQUIRE(*conn->ptrExchange != nullptr);
        // As it was, so that kernels may run.
        *conn->tail = 0;
        *conn->head = 0;
        *conn->ptrExchange = nullptr;
        for (char* buffer : conn->buffs) std::memset(buffer, 0, 64);
    }
    RANK_REQUIRE(meet_again(bootstrap));
    return 0;
}

int sum_once(Communicator& communicator, Protocol protocol) {
    const ncclComm& comm = communicator.comm();
    Operations operations(communicator, kAllProtocols);
    operations.force(protocol);
    std::vector<std::int32_t> data(50000, comm.rank + 1), sum(data.size());
    RANK_REQUIRE(operations.ring({.kind = RingCollective::all_reduce,
                                  .type = DataType::int32,
                                  .input = data.data(),
                                  .output = sum.data(),
                                  .count = data.size()}));
    for (const std::int32_t value : sum)
        RANK_REQUIRE(value == comm.n_ranks * (comm.n_ranks + 1) / 2);
    return 0;
}

struct Case {
    const char* name;
    const char* text;
    bool relay, read;
};

class ProcessWiring : public testing::TestWithParam<Case> {};

int wired_rank(const Case& one, int rank) {
    const int descriptors = open_descriptors();
    {
        auto meeting = meet(rank, 3);
        RANK_REQUIRE(meeting);
        CommunicatorOptions options = options_of_test();
        options.settings.nccl_p2p_read_enable = one.read ? "1" : "0";
        if (one.relay)
            options.path = [](const ncclPeerInfo& low, const ncclPeerInfo& high) {
                return PathAnswer{.p2p = true,
                                  .intermediate = low.rank == 0 && high.rank == 1 ? 2 : -1};
            };
        auto made = Communicator::create(*meeting->bootstrap, options);
        RANK_REQUIRE(made);
        Communicator& communicator = **made;
        RANK_REQUIRE(communicator.connect_all());
        if (rank < 2) {
            RANK_REQUIRE(std::strcmp(communicator.edge_text(1 - rank), one.text) == 0);
            const Edge& edge = edge_of(communicator.comm().channels[0].peers[1 - rank].send);
            RANK_REQUIRE(edge.base.memRank == (one.relay ? 2 : rank));
            RANK_REQUIRE(edge.base.ipcPtr != nullptr);
        }
        if (const int failed = check_both_mappings(communicator.comm(), *meeting->bootstrap);
            failed != 0)
            return failed;
        for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
            if (const int failed = sum_once(communicator, protocol); failed != 0) return failed;
        RANK_REQUIRE(communicator.tear_down());
        RANK_REQUIRE(meeting->leave());
    }
    RANK_REQUIRE(open_descriptors() == descriptors);
    RANK_REQUIRE(segment_mappings() == 0);
    return 0;
}

TEST_P(ProcessWiring, one_writes_and_the_other_reads) {  // V-6, V-10
    run_processes(3, [](int rank) { return wired_rank(GetParam(), rank); });
}

INSTANTIATE_TEST_SUITE_P(Processes, ProcessWiring,
                         testing::Values(Case{"ipc_write", "P2P/IPC", false, false},
                                         Case{"ipc_read", "P2P/IPC", false, true},
                                         Case{"relay_write", "P2P/indirect", true, false},
                                         Case{"relay_read", "P2P/indirect", true, true}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Processes, may_hold_several_ranks_each) {
    run_processes(2, [](int process) {
        std::array<int, 2> failed{1, 1};
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 2; ++thread)
            threads.emplace_back([&, thread] {
                failed[static_cast<std::size_t>(thread)] = [&] {
                    const int rank = 2 * process + thread;
                    auto meeting = meet(rank, 4);
                    RANK_REQUIRE(meeting);
                    auto made = Communicator::create(*meeting->bootstrap, options_of_test());
                    RANK_REQUIRE(made);
                    Communicator& communicator = **made;
                    RANK_REQUIRE(communicator.connect_all());
                    const int neighbour = rank ^ 1;
                    const int stranger = (rank + 2) % 4;
                    RANK_REQUIRE(
                        std::strcmp(communicator.edge_text(neighbour), "P2P/direct pointer") == 0);
                    RANK_REQUIRE(std::strcmp(communicator.edge_text(stranger), "P2P/IPC") == 0);
                    if (const int wrong = sum_once(communicator, Protocol::simple); wrong != 0)
                        return wrong;
                    RANK_REQUIRE(communicator.tear_down());
                    RANK_REQUIRE(meeting->leave());
                    return 0;
                }();
            });
        for (std::thread& thread : threads) thread.join();
        return failed[0] + failed[1];
    });
}

TEST(Processes, descriptors_do_not_grow_with_the_edges) {  // p2p contract 2.4
    run_processes(3, [](int rank) {
        auto meeting = meet(rank, 3);
        RANK_REQUIRE(meeting);
        CommunicatorOptions options = options_of_test();
        options.channels = 8;
        auto made = Communicator::create(*meeting->bootstrap, options);
        RANK_REQUIRE(made);
        const int before = open_descriptors();
        RANK_REQUIRE((*made)->connect_all());
        RANK_REQUIRE(open_descriptors() <= before + 4);
        RANK_REQUIRE((*made)->tear_down());
        RANK_REQUIRE(meeting->leave());
        return 0;
    });
}

int child_of_rank(Communicator& communicator) {
    const Status connected = communicator.connect_all();
    if (connected || connected.error().code != Errc::invalid_usage) return 1;
    return 0;
}

TEST(Processes, a_forked_child_is_refused_and_harms_nobody) {  // V-35, T-12
    run_processes(2, [](int rank) {
        auto meeting = meet(rank, 2);
        RANK_REQUIRE(meeting);
        auto made = Communicator::create(*meeting->bootstrap, options_of_test());
        RANK_REQUIRE(made);
        Communicator& communicator = **made;
        RANK_REQUIRE(communicator.connect_all());
        if (const int wrong = sum_once(communicator, Protocol::simple); wrong != 0) return wrong;
        const pid_t child = ::fork();
        if (child == 0) {
            int code = child_of_rank(communicator);
            // Also what the child's own destructors do must leave the parent alone.
            made->reset();
            ::_exit(code);
        }
        int status = -1;
        RANK_REQUIRE(::waitpid(child, &status, 0) == child);
        RANK_REQUIRE(status == 0);
        if (const int wrong = sum_once(communicator, Protocol::simple); wrong != 0) return wrong;
        RANK_REQUIRE(communicator.tear_down());
        RANK_REQUIRE(meeting->leave());
        return 0;
    });
}

}  // namespace
}  // namespace duofi::p2p::test
