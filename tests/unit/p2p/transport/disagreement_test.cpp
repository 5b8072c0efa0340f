// Ends that do not fit each other, messages that were changed on the way, ranks that fail alone:
// V-8, V-33's set-up side. Units: p2p/transport/exchange, p2p/transport/communicator,
// p2p/transport/communicator_init.
#include <gtest/gtest.h>

#include <cstring>

#include "common/local/crc32c.hpp"
#include "p2p/transport/driver.hpp"
#include "p2p/transport/exchange.hpp"
#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// Connects everybody; every rank must fail, and soon. Returns the codes by rank.
std::vector<Errc> connect_and_fail(Team& team) {
    std::vector<Errc> codes(static_cast<std::size_t>(team.size()));
    const Nanoseconds begin = now_ns();
    team.run([&](int rank, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        EXPECT_FALSE(connected) << "rank " << rank;
        if (!connected) codes[static_cast<std::size_t>(rank)] = connected.error().code;
    });
    EXPECT_LT(now_ns() - begin, 5 * kSecond) << "nobody waits for the time to pass";
    return codes;
}

bool has(const std::vector<Errc>& codes, Errc code) {
    return std::ranges::find(codes, code) != codes.end();
}

TEST(Disagreement, connect_twice) {  // V-8, C-21
    duofi::test::LogLines lines;
    Team team(2, "host");
    ASSERT_TRUE(team.whole());
    team.connect_all();
    ncclConnector& connector = team.comm(0).channels[0].peers[1].send;
    ncclConnect blob{};
    EXPECT_EQ(p2pTransport.send.connect(&team.comm(0), &blob, 1, 0, &connector), ncclInternalError);
    EXPECT_FALSE(lines.with("connect of a connector that is connected (channel 0)").empty());
}

TEST(Disagreement, about_read) {  // V-8, C-22
    for (const char* runtime : {"unified", "host"}) {
        duofi::test::LogLines lines;
        Team team(2, runtime, [](int rank, CommunicatorOptions& options) {
            options.settings.nccl_p2p_read_enable = rank == 0 ? "0" : "1";
        });
        ASSERT_TRUE(team.whole());
        EXPECT_TRUE(has(connect_and_fail(team), Errc::invalid_usage));
        EXPECT_FALSE(lines.with("says read=").empty()) << lines.dump();
    }
}

/// A caller with a driver of its own compares no records: the blobs tell (the records: Create, below).
TEST(Disagreement, about_buffer_sizes) {  // V-8
    duofi::test::LogLines lines;
    Team team(3, "host");
    ASSERT_TRUE(team.whole());
    team.comm(2).buff_sizes.bytes[NCCL_PROTO_SIMPLE] = 65536;
    EXPECT_TRUE(has(connect_and_fail(team), Errc::invalid_usage));
    EXPECT_FALSE(lines.with("uses other buffer sizes").empty()) << lines.dump();
}

TEST(Disagreement, about_marked_channels) {  // C-16
    duofi::test::LogLines lines;
    Team team(2, "host", [](int, CommunicatorOptions& options) { options.channels = 3; });
    ASSERT_TRUE(team.whole());
    team.run([](int rank, Communicator& communicator) {
        const int peer = 1 - rank;
        for (int channel = 0; channel < (rank == 0 ? 3 : 2); ++channel)
            mark(communicator.comm(), channel, std::span(&peer, 1), std::span(&peer, 1));
        const Status connected = set_up(communicator.comm(), nullptr);
        ASSERT_FALSE(connected);
    });
    EXPECT_FALSE(lines.with("sent 768 bytes of connect blobs, expected 512 bytes").empty() &&
                 lines.with("sent 512 bytes of connect blobs, expected 768 bytes").empty())
        << lines.dump();
}

struct Change {
    const char* name;
    const char* text;
    void (*apply)(unsigned char* blob);
};

/// Makes the checksum fit again.
void seal(unsigned char* blob) {
    const std::uint32_t crc = local::crc32c(std::as_bytes(std::span(blob, 120)));
    std::memcpy(blob + 120, &crc, sizeof(crc));
}

void other_owner(unsigned char* blob) {
    const std::int32_t owner = 2;
    std::memcpy(blob, &owner, sizeof(owner));
    seal(blob);
}
void owner_out_of_range(unsigned char* blob) {
    const std::int32_t owner = -5;
    std::memcpy(blob, &owner, sizeof(owner));
    seal(blob);
}
void wild_pointer(unsigned char* blob) {
    const std::uint64_t pointer = 0x123456789000;
    std::memcpy(blob + 8, &pointer, sizeof(pointer));
    seal(blob);
}
void shifted_pointer(unsigned char* blob) {
    std::uint64_t pointer;
    std::memcpy(&pointer, blob + 8, sizeof(pointer));
    pointer += 4096;
    std::memcpy(blob + 8, &pointer, sizeof(pointer));
    seal(blob);
}
void broken_bit(unsigned char* blob) {
    blob[17] ^= 1;
}
void other_transport(unsigned char* blob) {
    std::memset(blob, 0x5a, 128);
}

class ChangedBlob : public testing::TestWithParam<Change> {};

TEST_P(ChangedBlob, is_refused_by_name_and_touches_nothing) {  // V-8, V-27 at this level
    duofi::test::LogLines lines;
    Team team(3, "host", {}, [](int from, int to, Message& message) {
        if (from == 1 && to == 0 && message.type == MessageType::transport_init)
            GetParam().apply(reinterpret_cast<unsigned char*>(message.bytes.data()));
        return true;
    });
    ASSERT_TRUE(team.whole());
    connect_and_fail(team);
    EXPECT_FALSE(lines.with(GetParam().text).empty()) << lines.dump();
}

INSTANTIATE_TEST_SUITE_P(
    Disagreement, ChangedBlob,
    testing::Values(Change{"other_owner", "says that rank 2 owns its memory", &other_owner},
                    Change{"owner_out_of_range", "says that rank -5 owns", &owner_out_of_range},
                    Change{"wild_pointer", "retain", &wild_pointer},
                    Change{"shifted_pointer", "at offset 4096, expected", &shifted_pointer},
                    Change{"broken_bit", "is damaged", &broken_bit},
                    Change{"other_transport", "is not one of P2P", &other_transport}),
    [](const auto& one) { return one.param.name; });

TEST(Disagreement,
     a_forged_handle_is_refused) {  // across processes the handle counts, not the pointer
    duofi::test::LogLines lines;
    Team team(
        2, "host",
        [](int rank, CommunicatorOptions& options) { wire_as(Wiring::ipc, false, rank, options); },
        [](int from, int, Message& message) {
            if (from != 1 || message.type != MessageType::transport_init) return true;
            auto* blob = reinterpret_cast<unsigned char*>(message.bytes.data());
            blob[16 + 48] ^= 1;  // the nonce
            const std::uint32_t crc = local::crc32c(std::as_bytes(std::span(blob + 16, 60)));
            std::memcpy(blob + 16 + 60, &crc, sizeof(crc));
            seal(blob);
            return true;
        });
    ASSERT_TRUE(team.whole());
    connect_and_fail(team);
    EXPECT_GT(lines.warnings(), 0U);
}

TEST(Disagreement, a_message_of_another_kind) {
    duofi::test::LogLines lines;
    Team team(2, "host", {}, [](int from, int, Message& message) {
        if (from == 1) message.type = MessageType::barrier;
        return true;
    });
    ASSERT_TRUE(team.whole());
    EXPECT_TRUE(has(connect_and_fail(team), Errc::invalid_usage));
    EXPECT_FALSE(lines.with("sent a message of type 3 during p2pconnect (expected: 1)").empty());
}

TEST(Disagreement, a_silent_rank_ends_with_the_time) {
    duofi::test::LogLines lines;
    Team team(
        2, "host", [](int, CommunicatorOptions& options) { options.timeout = 200 * kMillisecond; },
        [](int from, int, Message&) { return from != 1; });
    ASSERT_TRUE(team.whole());
    EXPECT_TRUE(has(connect_and_fail(team), Errc::timed_out));
    EXPECT_FALSE(lines.with("with rank 1 failed during p2pconnect: timed_out").empty());
}

TEST(Disagreement, a_rank_that_fails_alone_tells_the_others) {
    duofi::test::LogLines lines;
    Team team(4, "host", [](int rank, CommunicatorOptions& options) {
        // Rank 3 asks for a relay that has no service.
        if (rank == 3)
            options.path = [](const ncclPeerInfo&, const ncclPeerInfo&) {
                return PathAnswer{.p2p = true, .intermediate = 0};
            };
    });
    ASSERT_TRUE(team.whole());
    const auto codes = connect_and_fail(team);
    EXPECT_EQ(codes[3], Errc::invalid_usage);
    EXPECT_FALSE(lines.with("rank 3 gave up during p2pconnect").empty()) << lines.dump();
    EXPECT_FALSE(lines.with("which offers none").empty());
}

TEST(TearDown, an_aborted_rank_does_not_keep_the_others_waiting) {
    duofi::test::LogLines lines;
    Team team(5, "host");
    ASSERT_TRUE(team.whole());
    const Nanoseconds begin = now_ns();
    team.run([](int rank, Communicator& communicator) {
        if (rank == 2) communicator.abort();
        const Status ended = communicator.tear_down();
        EXPECT_EQ(ended.has_value(), rank == 2);
        if (!ended) {
            EXPECT_EQ(ended.error().code, Errc::remote);
        }
    });
    EXPECT_LT(now_ns() - begin, 5 * kSecond) << "nobody waits for the time to pass";
    EXPECT_FALSE(lines.with("rank 2 gave up during teardown").empty()) << lines.dump();
}

TEST(Create, ranks_with_other_channels_or_failures_do_not_hold_up_the_rest) {
    struct {
        const char* text;
        void (*change)(CommunicatorOptions&);
        Errc own;
    } const cases[] = {
        {"rank 1 has another number of channels: 2 there, 1 here",
         [](CommunicatorOptions& options) { options.channels = 2; }, Errc::invalid_usage},
        // V-8; at once, since the ends of an edge over the network would not see it
        {"rank 1 has another choice of buffer sizes (NCCL_BUFFSIZE",
         [](CommunicatorOptions& options) { options.buffer_bytes[NCCL_PROTO_SIMPLE] = 65536; }, Errc::invalid_usage},
        {"rank 1 gave up during init with result 4",
         [](CommunicatorOptions& options) { options.channels = 33; }, Errc::invalid_argument},
        {"rank 1 gave up during init with result 4",
         [](CommunicatorOptions& options) { options.buffer_bytes[0] = 1000; },
         Errc::invalid_argument},
    };
    for (const auto& one : cases) {
        duofi::test::LogLines lines;
        run_threads(3, [&](int rank, Bootstrap& bootstrap) {
            CommunicatorOptions options = options_for("host");
            if (rank == 1) one.change(options);
            const auto made = Communicator::create(bootstrap, options);
            ASSERT_FALSE(made);
            if (rank == 1) {
                EXPECT_EQ(made.error().code, one.own);
            }
        });
        EXPECT_FALSE(lines.with(one.text).empty()) << lines.dump();
    }
}

}  // namespace
}  // namespace duofi::p2p::test
