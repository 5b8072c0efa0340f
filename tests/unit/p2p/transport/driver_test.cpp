// Marking and the exchange between many ranks, with transports that only look at their blobs: V-5,
// V-12, C-15 to C-18. Units: p2p/transport/driver, p2p/transport/exchange.
#include "p2p/transport/driver.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <random>

#include "tests/unit/p2p/transport/rank_team.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::p2p::test {
namespace {

/// What a mock packs: which end made it.
struct Label {
    int rank, peer, channel, sends;
};

struct MockEdge {
    Label label;
    int attempts_left;
};

std::atomic<int> attempts_needed{1};
std::atomic<ncclResult_t> answer_meanwhile{ncclSuccess};
std::atomic<int> wrong_blobs{0};
std::atomic<int> live_edges{0};

ncclResult_t accept_all(int* ret, ncclTopoSystem*, ncclTopoGraph*, ncclPeerInfo*, ncclPeerInfo*) {
    *ret = 1;
    return ncclSuccess;
}

template <int Sends>
ncclResult_t mock_setup(ncclComm* comm, ncclTopoGraph*, ncclPeerInfo* me, ncclPeerInfo* peer,
                        ncclConnect* blob, ncclConnector* connector, int channel) {
    const Label label{me->rank, peer->rank, channel, Sends};
    EXPECT_EQ(comm->rank, me->rank);
    EXPECT_EQ(connector->transportResources, nullptr);
    std::memcpy(blob->data, &label, sizeof(label));
    connector->transportResources = new MockEdge{label, attempts_needed.load()};
    ++live_edges;
    return ncclSuccess;
}

template <int Sends>
ncclResult_t mock_connect(ncclComm*, ncclConnect* blob, int ranks, int rank,
                          ncclConnector* connector) {
    auto& edge = *static_cast<MockEdge*>(connector->transportResources);
    Label seen;
    std::memcpy(&seen, blob->data, sizeof(seen));
    const bool right = ranks == 1 && rank == edge.label.rank && seen.rank == edge.label.peer &&
                       seen.peer == edge.label.rank && seen.channel == edge.label.channel &&
                       seen.sends == 1 - Sends;
    if (!right) ++wrong_blobs;
    if (--edge.attempts_left != 0) return answer_meanwhile;
    connector->connected = 1;
    return ncclSuccess;
}

ncclResult_t mock_free(void* resources) {
    delete static_cast<MockEdge*>(resources);
    --live_edges;
    return ncclSuccess;
}

const ncclTransport kMock = {
    "mock",
    &accept_all,
    {&mock_setup<1>, &mock_connect<1>, &mock_free, nullptr, nullptr, nullptr},
    {&mock_setup<0>, &mock_connect<0>, &mock_free, nullptr, nullptr, nullptr}};
const ncclTransport* const kMocks[NTRANSPORTS] = {&kMock, &kMock};

Team::Change mocked(int channels) {
    return [channels](int, CommunicatorOptions& options) {
        options.transports = kMocks;
        options.channels = channels;
    };
}

/// A mask per ordered pair of ranks: channels on which the first one sends to the second one.
using Masks = std::map<std::pair<int, int>, std::uint32_t>;

Masks random_masks(int ranks, int channels, unsigned seed) {
    std::mt19937 random(seed);
    Masks masks;
    for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to) {
            if (from == to) continue;
            const std::uint32_t all = channels == 32 ? ~0U : (1U << channels) - 1;
            // A third of the directions stays empty.
            masks[{from, to}] = random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(random()) & all;
        }
    return masks;
}

void mark_masks(ncclComm& comm, const Masks& masks) {
    for (const auto& [pair, mask] : masks)
        for (int channel = 0; channel < 32; ++channel) {
            if ((mask >> channel & 1U) == 0) continue;
            if (pair.first == comm.rank) mark(comm, channel, {}, std::span(&pair.second, 1));
            if (pair.second == comm.rank) mark(comm, channel, std::span(&pair.first, 1), {});
        }
}

std::size_t bits(const Masks& masks, int from, int to) {
    return static_cast<std::size_t>(std::popcount(masks.at({from, to})));
}

/// Sizes of the connect messages that `from` sends to `to`, in order.
std::vector<std::size_t> expected_sizes(const Masks& masks, int from, int to, int ranks) {
    // For its receives `from` tells `to` first if `to` comes first as the rank in front of it.
    const std::size_t receives = bits(masks, to, from) * 128;
    const std::size_t sends = bits(masks, from, to) * 128;
    const int as_receiver = (from - to + ranks) % ranks;
    const int as_sender = (to - from + ranks) % ranks;
    std::vector<std::size_t> sizes;
    if (as_receiver == as_sender) {
        if (receives + sends != 0) sizes.push_back(receives + sends);
        return sizes;
    }
    const auto add = [&](std::size_t bytes) {
        if (bytes != 0) sizes.push_back(bytes);
    };
    add(as_receiver < as_sender ? receives : sends);
    add(as_receiver < as_sender ? sends : receives);
    return sizes;
}

class DriverRanks : public testing::TestWithParam<int> {};

TEST_P(DriverRanks, messages_are_as_long_as_the_masks_and_arrive_where_they_belong) {  // V-5, C-16
    const int ranks = GetParam();
    attempts_needed = 1;
    for (const unsigned seed : {1U, 2U, 3U}) {
        const int channels = seed == 3 ? 32 : 5;
        const Masks masks = random_masks(ranks, channels, seed);
        wrong_blobs = 0;
        Team team(ranks, "unified", mocked(channels));
        ASSERT_TRUE(team.whole());
        team.run([&](int, Communicator& communicator) {
            mark_masks(communicator.comm(), masks);
            EXPECT_TRUE(set_up(communicator.comm(), nullptr));
        });
        EXPECT_EQ(wrong_blobs, 0) << "seed " << seed;
        for (const auto& [pair, mask] : masks) {
            const auto [from, to] = pair;
            std::vector<std::size_t> sizes;
            for (const auto& sent : team.bootstrap(from).sent())
                if (sent.peer == to && sent.message.type == MessageType::transport_init)
                    sizes.push_back(sent.message.bytes.size());
            EXPECT_EQ(sizes, expected_sizes(masks, from, to, ranks)) << from << " to " << to;
            for (int channel = 0; channel < channels; ++channel) {
                const int wanted = mask >> channel & 1U ? 1 : 0;
                const auto at = static_cast<std::size_t>(channel);
                EXPECT_EQ(team.comm(from).channels[at].peers[to].send.connected, wanted);
                EXPECT_EQ(team.comm(to).channels[at].peers[from].recv.connected, wanted);
            }
        }
        for (int rank = 0; rank < ranks; ++rank) {
            for (const std::uint32_t mask : team.comm(rank).connect_send) EXPECT_EQ(mask, 0U);
            for (const std::uint32_t mask : team.comm(rank).connect_recv) EXPECT_EQ(mask, 0U);
        }
        team.tear_down();
        EXPECT_EQ(live_edges, 0);
    }
}

// Two: always one message both ways. Even: so for the rank opposite. Odd: never.
INSTANTIATE_TEST_SUITE_P(Driver, DriverRanks, testing::Values(2, 3, 4, 5, 6));

TEST(Driver, a_transport_may_need_several_attempts) {  // C-18
    attempts_needed = 3;
    for (const ncclResult_t meanwhile : {ncclSuccess, ncclInProgress}) {
        answer_meanwhile = meanwhile;
        wrong_blobs = 0;
        Team team(3, "unified", mocked(2));
        ASSERT_TRUE(team.whole());
        team.connect_all();
        EXPECT_EQ(wrong_blobs, 0);
        EXPECT_EQ(team.comm(0).channels[1].peers[2].recv.connected, 1);
    }
    answer_meanwhile = ncclSuccess;
}

TEST(Driver, a_transport_that_never_connects_ends_with_the_time) {
    attempts_needed = 1 << 30;
    Team team(2, "unified", [](int rank, CommunicatorOptions& options) {
        mocked(1)(rank, options);
        options.timeout = 100 * kMillisecond;
    });
    ASSERT_TRUE(team.whole());
    team.run([](int, Communicator& communicator) {
        const Status connected = communicator.connect_all();
        ASSERT_FALSE(connected);
        EXPECT_TRUE(connected.error().code == Errc::timed_out ||
                    connected.error().code == Errc::remote);
    });
    attempts_needed = 1;
}

TEST(Driver, oneself_is_connected_only_when_asked_for) {  // T-2
    for (const bool self : {false, true}) {
        wrong_blobs = 0;
        Team team(2, "unified", [&](int rank, CommunicatorOptions& options) {
            mocked(1)(rank, options);
            options.settings.p2p_self = self;
        });
        ASSERT_TRUE(team.whole());
        team.run([](int rank, Communicator& communicator) {
            EXPECT_TRUE(communicator.connect(std::span(&rank, 1), std::span(&rank, 1)));
        });
        EXPECT_EQ(team.comm(0).channels[0].peers[0].send.connected, self ? 1 : 0);
        EXPECT_EQ(wrong_blobs, 0) << "its own blobs, swapped";
        EXPECT_TRUE(team.bootstrap(0).sent().empty()) << "nothing leaves the rank";
    }
}

TEST(Mark, skips_what_is_no_peer_and_what_is_connected) {  // V-12, C-15
    attempts_needed = 1;
    Team team(3, "unified", mocked(3));
    ASSERT_TRUE(team.whole());
    ncclComm& comm = team.comm(1);
    const std::array<int, 7> peers{-1, 0, 1, 2, 3, 1000, -7};
    mark(comm, 2, peers, peers);
    mark(comm, 2, peers, peers);
    EXPECT_EQ(comm.connect_recv, (std::vector<std::uint32_t>{4, 0, 4}));
    EXPECT_EQ(comm.connect_send, (std::vector<std::uint32_t>{4, 0, 4}));
    EXPECT_TRUE(team.bootstrap(1).sent().empty());
    EXPECT_EQ(live_edges, 0) << "no allocation";
    comm.connect_recv = comm.connect_send = {0, 0, 0};
    team.connect_all();
    mark(comm, 2, peers, peers);
    EXPECT_EQ(comm.connect_recv, (std::vector<std::uint32_t>{0, 0, 0}));
    EXPECT_EQ(comm.connect_send, (std::vector<std::uint32_t>{0, 0, 0}));
}

}  // namespace
}  // namespace duofi::p2p::test
