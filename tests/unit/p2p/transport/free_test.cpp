// The end of connectors: V-10, C-25, C-26, T-8, T-13.
// Units: p2p/transport/p2p_free.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/driver.hpp"
#include "p2p/transport/edge.hpp"
#include "p2p/transport/p2p_transport.hpp"
#include "tests/support/process_facts.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// The runtime "host" with counted calls.
struct Counts {
    int mallocs = 0, frees = 0, opens = 0, closes = 0, retains = 0, releases = 0, remote = 0;
    std::string order;
};
Counts counts;
std::mutex counts_mutex;
RuntimeTable counted;

#define COUNTED(slot, member, letter)                                     \
    [](auto... arguments) {                                               \
        const int code = runtime::find_table("host")->slot(arguments...); \
        const std::lock_guard lock(counts_mutex);                         \
        if (code == kRuntimeOk) counts.member += 1;                       \
        counts.order += letter;                                           \
        return code;                                                      \
    }

const RuntimeTable& counted_table() {
    counted = *runtime::find_table("host");
    counts = {};
    counted.malloc = COUNTED(malloc, mallocs, 'm');
    counted.free = COUNTED(free, frees, 'f');
    counted.ipc_open_mem_handle = COUNTED(ipc_open_mem_handle, opens, 'o');
    counted.ipc_close_mem_handle = COUNTED(ipc_close_mem_handle, closes, 'c');
    counted.retain = COUNTED(retain, retains, 'R');
    counted.release = COUNTED(release, releases, 'r');
    counted.remote_alloc = COUNTED(remote_alloc, remote, '+');
    counted.remote_free = [](std::int32_t id) {
        const int code = runtime::find_table("host")->remote_free(id);
        const std::lock_guard lock(counts_mutex);
        counts.remote -= 1;
        return code;
    };
    return counted;
}

class FreeModes : public testing::TestWithParam<Wiring> {};

TEST_P(FreeModes, give_back_all_memory_mappings_and_descriptors) {  // V-10, T-8
    const duofi::test::ProcessFacts before = duofi::test::ProcessFacts::now();
    {
        const RuntimeTable& table = counted_table();
        Team team(3, "host", [&](int rank, CommunicatorOptions& options) {
            wire_as(GetParam(), false, rank, options);
            options.runtime = &table;
            options.channels = 2;
        });
        ASSERT_TRUE(team.whole());
        team.connect_all();
        EXPECT_EQ(counts.frees, 0);
        if (GetParam() == Wiring::relay) {
            EXPECT_EQ(counts.remote, 8) << "both ends, both directions, two channels";
        }
        if (GetParam() == Wiring::ipc) {
            EXPECT_EQ(counts.opens, 3 * 2 * 2 * 2);
        }
        team.tear_down();
        EXPECT_EQ(counts.remote, 0);
    }
    // The service of relays has given back its buffers by now.
    EXPECT_EQ(counts.frees, counts.mallocs);
    EXPECT_EQ(counts.closes, counts.opens);
    EXPECT_EQ(counts.releases, counts.retains);
    const duofi::test::ProcessFacts after = duofi::test::ProcessFacts::now();
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_EQ(after.threads, before.threads);
    EXPECT_EQ(after.shm_entries, before.shm_entries);  // an older process with this number may have left some
}

INSTANTIATE_TEST_SUITE_P(Free, FreeModes,
                         testing::Values(Wiring::direct, Wiring::ipc, Wiring::relay),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST(Free, a_mapping_is_closed_before_the_memory_goes) {  // p2p contract 1.18
    const RuntimeTable& table = counted_table();
    Team team(2, "host", [&](int rank, CommunicatorOptions& options) {
        wire_as(Wiring::ipc, false, rank, options);
        options.runtime = &table;
    });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    counts.order.clear();
    ncclConnector& connector = team.comm(0).channels[0].peers[1].send;
    EXPECT_EQ(connector.transportComm->free(connector.transportResources), ncclSuccess);
    connector = {};
    EXPECT_EQ(counts.order, "cf");
}

TEST(Free, senders_go_first_and_nothing_goes_twice) {  // V-10, C-26
    Team team(3, "unified");
    ASSERT_TRUE(team.whole());
    team.connect_all();
    static std::vector<Direction> order;
    order.clear();
    ncclTransportComm send = p2pTransport.send;
    ncclTransportComm recv = p2pTransport.recv;
    send.free = [](void* resources) {
        order.push_back(Direction::send);
        return p2pTransport.send.free(resources);
    };
    recv.free = [](void* resources) {
        order.push_back(Direction::recv);
        return p2pTransport.recv.free(resources);
    };
    for (const int peer : {1, 2}) {
        team.comm(0).channels[0].peers[peer].send.transportComm = &send;
        team.comm(0).channels[0].peers[peer].recv.transportComm = &recv;
    }
    EXPECT_TRUE(free_connectors(team.comm(0)));
    EXPECT_TRUE(free_connectors(team.comm(0)));
    EXPECT_EQ(order,
              (std::vector{Direction::send, Direction::send, Direction::recv, Direction::recv}));
    EXPECT_EQ(team.comm(0).channels[0].peers[1].send.connected, 0);
}

TEST(Free, nothing_is_a_success) {  // C-26
    EXPECT_EQ(p2pTransport.send.free(nullptr), ncclSuccess);
    EXPECT_EQ(p2pTransport.recv.free(nullptr), ncclSuccess);
}

TEST(FreeDeathTest, a_relay_buffer_without_relay_support) {  // V-10, C-25
    // Not by which signal: libraries that the process has loaded may handle it and exit.
    EXPECT_DEATH(
        {
            Edge* edge = new Edge;
            edge->base.remoteId = 7;
            static_cast<void>(p2p_free(edge));
        },
        "");
}

TEST(Free, memory_stays_while_a_peer_of_the_process_uses_it) {  // T-13
    for (const char* runtime : {"unified", "host"}) {
        Team team(2, runtime);
        ASSERT_TRUE(team.whole());
        team.connect_all();
        const ncclConnInfo& sender = team.comm(0).channels[0].peers[1].send.conn;
        ASSERT_TRUE(free_connectors(team.comm(1)));
        // A kernel of rank 0 that is still at it.
        *sender.tail = 5;
        std::memset(sender.buffs[NCCL_PROTO_LL], 1, 4096);
        EXPECT_EQ(*sender.tail, 5U);
    }
}

TEST(Free, a_setup_that_failed_half_way_is_freed) {
    duofi::test::LogLines lines;
    static RuntimeTable table;
    table = *runtime::find_table("host");
    table.ipc_get_mem_handle = [](p2pIpcHandle*, void*) { return static_cast<int>(Errc::system); };
    const auto before = duofi::test::ProcessFacts::now();
    {
        Team team(2, "host", [](int rank, CommunicatorOptions& options) {
            wire_as(Wiring::ipc, false, rank, options);
            options.runtime = &table;
        });
        ASSERT_TRUE(team.whole());
        team.run([](int, Communicator& communicator) { EXPECT_FALSE(communicator.connect_all()); });
    }
    EXPECT_EQ(duofi::test::ProcessFacts::now().descriptors, before.descriptors);
}

TEST(Exports, descriptors_are_closed_after_the_connect) {  // p2p contract 1.13
    Team team(2, "host", [](int rank, CommunicatorOptions& options) {
        wire_as(Wiring::ipc, false, rank, options);
        options.channels = 4;
    });
    ASSERT_TRUE(team.whole());
    const auto before = duofi::test::ProcessFacts::now();
    team.connect_all();
    EXPECT_LE(duofi::test::ProcessFacts::now().descriptors.size(), before.descriptors.size() + 4)
        << "at most the service of descriptors and its wake-up are new";
    p2pIpcHandle handle;
    EXPECT_FALSE(
        runtime::ipc_get(&handle, edge_of(team.comm(0).channels[0].peers[1].send).base.devMem));
}

}  // namespace
}  // namespace duofi::p2p::test
