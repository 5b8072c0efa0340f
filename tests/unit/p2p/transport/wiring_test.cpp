// Which pointer of a connector leads where: V-6, V-7, V-9, V-11, and V-25 (unified_ipc: handles
// that mean nothing, T-5). Units: p2p/transport/p2p_connect, p2p/transport/p2p_setup,
// p2p/transport/edge, p2p/transport/connectors.
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "p2p/runtime/runtime.hpp"
#include "p2p/transport/driver.hpp"
#include "p2p/transport/edge.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

using Case = std::tuple<std::string, Wiring, bool>;

constexpr std::size_t kLl = 16384, kLl128 = 122880, kSimple = 65536;

struct WiringTest : testing::TestWithParam<Case> {
    const std::string runtime = std::get<0>(GetParam());
    const Wiring wiring = std::get<1>(GetParam());
    const bool read = std::get<2>(GetParam());
    duofi::test::LogLines lines;
    Team team{3, runtime, [this](int rank, CommunicatorOptions& options) {
                  wire_as(wiring, read, rank, options);
                  options.buffer_bytes = {kLl, kLl128, kSimple};
                  options.channels = 2;
              }};

    void SetUp() override {
        ASSERT_TRUE(team.whole());
        team.connect_all();
    }

    const ncclConnector& sender(int channel = 0) {
        return team.comm(0).channels[static_cast<std::size_t>(channel)].peers[1].send;
    }
    const ncclConnector& receiver(int channel = 0) {
        return team.comm(1).channels[static_cast<std::size_t>(channel)].peers[0].recv;
    }
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
    return std::get<0>(info.param) + "_" + name_of(std::get<1>(info.param)) +
           (std::get<2>(info.param) ? "_read" : "_write");
}

std::ptrdiff_t offset(const void* pointer, const void* base) {
    return static_cast<const char*>(pointer) - static_cast<const char*>(base);
}

TEST_P(WiringTest, every_pointer_is_the_owners_memory_and_an_offset) {  // V-6
    const Edge& from = edge_of(sender());
    const Edge& to = edge_of(receiver());
    // As the sender sees the receiver's memory, and its own; then the other way round.
    struct View {
        const ncclConnInfo& conn;
        const void* send_memory;
        const void* recv_memory;
    };
    for (const View& view : {View{sender().conn, from.base.devMem, from.peers.memory},
                             View{receiver().conn, to.peers.memory, to.base.devMem}}) {
        EXPECT_EQ(offset(view.conn.buffs[NCCL_PROTO_LL], view.recv_memory), 4096);
        EXPECT_EQ(offset(view.conn.buffs[NCCL_PROTO_LL128], view.recv_memory), 4096 + 16384);
        if (read)
            EXPECT_EQ(offset(view.conn.buffs[NCCL_PROTO_SIMPLE], view.send_memory), 4096);
        else
            EXPECT_EQ(offset(view.conn.buffs[NCCL_PROTO_SIMPLE], view.recv_memory),
                      4096 + 16384 + 122880);
        EXPECT_EQ(offset(view.conn.tail, view.recv_memory), 0);
        EXPECT_EQ(offset(view.conn.head, view.send_memory), 0);
        EXPECT_EQ(offset(view.conn.ptrExchange, view.send_memory), 0x80);
        EXPECT_EQ(view.conn.sizesFifo, nullptr) << "T-7";
        EXPECT_EQ(view.conn.ptrsFifo, nullptr);
        EXPECT_EQ(view.conn.shared, 0);
        EXPECT_EQ(view.conn.step, 0U);
    }
    EXPECT_EQ(sender().connected, 1);
    EXPECT_EQ(receiver().connected, 1);
}

TEST_P(WiringTest, what_one_end_writes_the_other_end_reads) {  // V-6, through both mappings
    *sender().conn.tail = 0x1122334455667788;
    EXPECT_EQ(*receiver().conn.tail, 0x1122334455667788U);
    *receiver().conn.head = 42;
    EXPECT_EQ(*sender().conn.head, 42U);
    for (std::size_t protocol = 0; protocol < NCCL_NUM_PROTOCOLS; ++protocol) {
        std::memcpy(sender().conn.buffs[protocol], "written", 8);
        EXPECT_STREQ(receiver().conn.buffs[protocol], "written") << protocol;
    }
}

TEST_P(WiringTest, memory_is_zero_and_of_the_size_of_the_table) {  // C-10
    const BufferSizes sizes{{kLl, kLl128, kSimple}};
    EXPECT_EQ(edge_of(sender()).bytes, send_mem_bytes(sizes, read));
    EXPECT_EQ(edge_of(receiver()).bytes, recv_mem_bytes(sizes, read));
    const auto* memory = static_cast<const unsigned char*>(edge_of(receiver()).base.devMem);
    for (std::size_t i = 0; i < edge_of(receiver()).bytes; i += 64) ASSERT_EQ(memory[i], 0) << i;
}

TEST_P(WiringTest, the_direct_bit_is_set_within_a_process_in_write_mode_only) {  // V-7, C-19
    const int expected = wiring == Wiring::direct && !read ? NCCL_DIRECT_GPU : 0;
    EXPECT_EQ(sender().conn.direct, expected);
    EXPECT_EQ(receiver().conn.direct, expected);
}

TEST_P(WiringTest, kernels_see_a_copy_of_the_connector) {  // V-9, C-24
    const ncclChannel& channel = team.comm(0).channels[1];
    EXPECT_EQ(std::memcmp(&channel.devPeers[1], &channel.peers[1], sizeof(ncclPeer)), 0);
    EXPECT_EQ(channel.devPeers == channel.peers, runtime == "unified");
}

TEST_P(WiringTest, one_line_per_channel_and_direction) {  // V-11, C-20
    const long bus = team.comm(0).peer_info[0].busId;
    const std::string tail =
        std::string(wiring == Wiring::direct ? "direct pointer"
                    : wiring == Wiring::ipc  ? "IPC"
                                             : fmt::format("indirect/2[{:x}]", bus)) +
        (read ? "/read" : "");
    for (const char* channel : {"00", "01"}) {
        const std::string text =
            fmt::format("Channel {} : 0[{:x}] -> 1[{:x}] via P2P/{}", channel, bus, bus, tail);
        std::size_t seen = 0;
        for (const auto& line : lines.all()) {
            if (line.text != text) continue;
            ++seen;
            EXPECT_EQ(line.level, log::Level::info);
            EXPECT_EQ(line.subsystems, 0x5UL) << "INIT and P2P";
        }
        EXPECT_EQ(seen, 1U) << text << "\n" << lines.dump();
    }
    EXPECT_EQ(lines.with("Channel 0").size(), 12U);
}

TEST_P(WiringTest, resources_name_the_owner) {  // p2p contract 1.6
    const Edge& edge = edge_of(sender());
    EXPECT_EQ(edge.base.memRank, wiring == Wiring::relay ? 2 : 0);
    EXPECT_EQ(edge.base.remoteId == -1, wiring != Wiring::relay);
    EXPECT_EQ(edge.base.bootstrap, &team.bootstrap(0));
    EXPECT_EQ(edge.base.ipcPtr != nullptr, wiring == Wiring::ipc);
}

INSTANTIATE_TEST_SUITE_P(
    Wiring, WiringTest,
    testing::Combine(testing::Values("unified", "host"),
                     testing::Values(Wiring::direct, Wiring::ipc, Wiring::relay), testing::Bool()),
    case_name);

TEST(Mirror, a_runtime_that_copies_nothing_needs_one_set_of_connectors) {  // V-9
    duofi::test::LogLines lines;
    Team team(2, "unified", [](int, CommunicatorOptions& options) {
        options.separate_mirror = true;
        options.timeout = 2 * kSecond;
    });
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        ASSERT_FALSE(connected);
        EXPECT_EQ(connected.error().code, Errc::internal);
    });
    EXPECT_FALSE(lines.with("did not arrive where kernels read it").empty()) << lines.dump();
}

TEST(Mirror, happens_once) {  // V-9: a second one would rewind `step`
    Team team(2, "host");
    ASSERT_TRUE(team.whole());
    team.connect_all();
    team.comm(0).channels[0].devPeers[1].send.conn.step = 77;
    team.connect_all();
    EXPECT_EQ(team.comm(0).channels[0].devPeers[1].send.conn.step, 77U);
}

TEST(Wiring, direct_disable_maps_handles_inside_a_process) {
    Team team(2, "host", [](int, CommunicatorOptions& options) {
        options.settings.nccl_p2p_direct_disable = "1";
    });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    EXPECT_STREQ(team.rank(0).edge_text(1), "P2P/IPC");
    EXPECT_EQ(team.comm(0).channels[0].peers[1].send.conn.direct, 0);
}

TEST(Wiring, debug_sizes_shows_the_fifo_to_both_ends) {  // T-7
    Team team(2, "host",
              [](int, CommunicatorOptions& options) { options.settings.p2p_debug_sizes = true; });
    ASSERT_TRUE(team.whole());
    team.connect_all();
    const ncclConnInfo& send = team.comm(0).channels[0].peers[1].send.conn;
    const ncclConnInfo& recv = team.comm(1).channels[0].peers[0].recv.conn;
    EXPECT_EQ(offset(send.sizesFifo, send.tail), 0x80);
    EXPECT_EQ(offset(recv.sizesFifo, recv.tail), 0x80);
}

}  // namespace
}  // namespace duofi::p2p::test
