// The matrix tells what transports do: V-19, C-34, and relays and read mode end to end on made-up
// machines (V-23, V-24 as far as the choice goes, V-25).
// Units: p2p/gate/matrix, p2p/gate/system.
#include <gtest/gtest.h>

#include "p2p/gate/matrix.hpp"
#include "p2p/operations.hpp"
#include "p2p/transport/edge.hpp"
#include "p2p/transport/p2p_transport.hpp"
#include "tests/unit/p2p/gate/hwloc_file.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

// A network that takes every edge and carries nothing.
ncclResult_t take(int* ret, ncclTopoSystem*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*) {
    *ret = 1;
    return ncclSuccess;
}
ncclResult_t set_up(ncclComm*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*, ncclConnect* blob,
                    ncclConnector*, int) {
    *blob = {};
    return ncclSuccess;
}
ncclResult_t join(ncclComm*, ncclConnect*, int, int, ncclConnector* connector) {
    connector->connected = 1;
    return ncclSuccess;
}
ncclResult_t drop(void*) { return ncclSuccess; }
constexpr ncclTransportComm kHalf = {&set_up, &join, &drop, nullptr, nullptr, nullptr};
constexpr ncclTransport kNetwork = {"network", &take, kHalf, kHalf};
constexpr const ncclTransport* kTable[NTRANSPORTS] = {&p2pTransport, &kNetwork};

struct Setup {
    int ranks;
    std::string runtime, sim;
    bool processes = false;  ///< every rank looks like one
    std::string level{};
};

EdgeKind chosen(const ncclConnector& connector) {
    if (connector.transportComm != &p2pTransport.send) return EdgeKind::net;
    switch (edge_of(connector).mode) {
        case WireMode::direct: return EdgeKind::direct;
        case WireMode::ipc: return EdgeKind::ipc;
        case WireMode::relay: return EdgeKind::relay;
    }
    return EdgeKind::self;
}

/// Connects everybody with everybody; the matrix must say of each edge what its connector is.
void compare(const Setup& setup, std::map<EdgeKind, int>& seen) {
    duofi::test::LogLines quiet(log::Level::warn);
    Team team(setup.ranks, setup.runtime, [&](int rank, CommunicatorOptions& options) {
        options.settings.p2p_sim = setup.sim;
        options.settings.nccl_p2p_level = setup.level;
        options.device = setup.runtime == "sim" ? rank : 0;
        options.pid_salt = setup.processes ? static_cast<std::uint64_t>(rank) + 1 : 0;
        options.buffer_bytes = {8192, 8192, 8192};
        options.transports = kTable;
    });
    ASSERT_TRUE(team.whole()) << quiet.dump();
    team.connect_all();
    for (int rank = 0; rank < setup.ranks; ++rank) {
        const ncclComm& comm = team.comm(rank);
        const Matrix matrix = make_matrix(comm.topo, comm.peer_info);
        for (int peer = 0; peer < setup.ranks; ++peer) {
            if (peer == rank) continue;
            const ncclConnector& connector = comm.channels[0].peers[peer].send;
            const MatrixEdge& edge =
                matrix.rows[static_cast<std::size_t>(rank)].edges[static_cast<std::size_t>(peer)];
            ASSERT_EQ(chosen(connector), edge.kind) << rank << " " << peer << " " << edge.why;
            ++seen[edge.kind];
            if (edge.kind == EdgeKind::net) continue;
            EXPECT_EQ(edge_of(connector).read, edge.read);
            if (edge.kind == EdgeKind::relay) {
                EXPECT_EQ(edge_of(connector).base.memRank, edge.middle);
            }
        }
    }
    team.tear_down();
}

using Kinds = std::map<EdgeKind, int>;

TEST(Chosen, AWholeTorusWithRelays) {  // V-19, V-14
    Kinds seen;
    compare({16, "sim", "topo=trn1:16"}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::direct, 64}, {EdgeKind::relay, 96}, {EdgeKind::net, 80}}));
}

TEST(Chosen, UnifiedMemoryTakesPathAndAccess) {  // V-19, V-25
    Kinds seen;
    compare({8, "sim", "topo=trn2:8;base=unified", true}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 24}, {EdgeKind::net, 32}}));
    seen.clear();
    compare({8, "sim", "topo=trn2:8;base=unified;reach=instance", true}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 56}}));
}

TEST(Chosen, SwitchedServersAndNearerLevels) {  // V-19, V-15
    Kinds seen;
    compare({8, "sim", "topo=trn3switch:8", true}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 56}}));
    seen.clear();
    compare({4, "sim", "topo=trn1:4", true, "NVL"}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 8}, {EdgeKind::net, 4}}));
}

TEST(Chosen, FilesOfHwloc) {  // V-19
    HwlocFile f;
    const TextFile file(f.machine(
        {f.host(f.bridge("0000:00:01.0", f.pci_switch("02", {f.card("0000:04:00.0"), f.card("0000:05:00.0")})) +
                f.bridge("0000:00:02.0", f.card("0000:09:00.0"))),
         f.host(f.bridge("0000:80:01.0", f.card("0000:81:00.0")))}));
    Kinds seen;
    compare({4, "sim", "topo=" + file.path(), true, "PIX"}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 2}, {EdgeKind::net, 10}}));
    seen.clear();
    compare({4, "sim", "topo=" + file.path(), true, "PHB"}, seen);
    EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 6}, {EdgeKind::net, 6}}));
}

TEST(Chosen, ThisMachine) {  // V-19
    for (const char* runtime : {"host", "unified"}) {
        Kinds seen;
        compare({3, runtime, "", true}, seen);
        EXPECT_EQ(seen, (Kinds{{EdgeKind::ipc, 6}})) << runtime;
    }
}

/// Sums and transfers over edges that all work.
void carry_data(Team& team) {
    team.run([](int rank, Communicator& communicator) {
        Operations operations(communicator, kAllProtocols);
        const int ranks = communicator.comm().n_ranks;
        for (const std::size_t count : {1UL, 1000UL, 40000UL}) {
            std::vector<std::int32_t> in(count * static_cast<std::size_t>(ranks)), out(in.size(), -1);
            for (std::size_t i = 0; i < in.size(); ++i) in[i] = rank * 100003 + static_cast<int>(i);
            ASSERT_TRUE(operations.all_to_all(in.data(), out.data(), count * sizeof(in[0])));
            for (int from = 0; from < ranks; ++from)
                for (std::size_t i = 0; i < count; ++i)
                    ASSERT_EQ(out[static_cast<std::size_t>(from) * count + i],
                              from * 100003 + static_cast<int>(static_cast<std::size_t>(rank) * count + i))
                        << "rank " << rank << " from " << from << " at " << i;
        }
    });
}

TEST(EndToEnd, DataGoThroughTheRelaysOfATorus) {  // V-23
    duofi::test::LogLines lines;
    Team team(4, "sim", [](int rank, CommunicatorOptions& options) {
        options.settings.p2p_sim = "topo=trn1:4";
        options.device = rank;
        options.pid_salt = static_cast<std::uint64_t>(rank) + 1;
    });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    EXPECT_EQ(lines.with("via P2P/indirect/1[ffff01000]").size(), 2U) << lines.dump();
    EXPECT_EQ(lines.with("via P2P/indirect/0[ffff00000]").size(), 2U) << lines.dump();
    EXPECT_EQ(lines.with("via P2P/IPC").size(), 8U);
    carry_data(team);
    team.tear_down();
}

TEST(EndToEnd, ReadModeWhereFastLinksJoinDevicesOfCapability80) {  // p2p contract 3.3
    duofi::test::LogLines lines;
    const TextFile file(R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="80"><nvlink target="0000:02:00.0" count="4"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x030200"><gpu dev="1" sm="80"><nvlink target="0000:03:00.0" count="4"/></gpu></pci>
<pci busid="0000:03:00.0" class="0x030200"><gpu dev="2" sm="90"/></pci></cpu></system>)");
    Team team(3, "sim", [&](int rank, CommunicatorOptions& options) {
        options.settings.p2p_sim = "topo=" + file.path();
        options.device = rank;
    });
    ASSERT_TRUE(team.whole()) << lines.dump();
    team.connect_all();
    EXPECT_TRUE(lines.info("Channel 00 : 0[1000] -> 1[2000] via P2P/direct pointer/read")) << lines.dump();
    EXPECT_TRUE(lines.info("Channel 00 : 1[2000] -> 2[3000] via P2P/direct pointer")) << lines.dump();
    EXPECT_TRUE(lines.info("Channel 00 : 0[1000] -> 2[3000] via P2P/indirect/1[2000]")) << lines.dump();
    carry_data(team);
    team.tear_down();
}

}  // namespace
}  // namespace duofi::p2p::test
