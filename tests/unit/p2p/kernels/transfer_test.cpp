// Sends and receives of whole messages (V-20 send/recv, V-22, V-33; C-40, C-41).
// Units: p2p/kernels/transfer, p2p/kernels/link, p2p/kernels/one_step
#include "p2p/kernels/transfer.hpp"

#include <gtest/gtest.h>

#include <random>

#include "p2p/kernels/one_step.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::KernelResult;
using p2p::Protocol;

const char* name_of(EdgeMode mode) {
    return mode == EdgeMode::slots ? "slots" : mode == EdgeMode::read ? "read" : "direct";
}

struct Case {
    std::size_t bytes;
    Protocol protocol;
    std::size_t shift;
};

/// Rank 0 sends all cases to rank 1 over one link.
void carry(const EdgeSettings& settings, const std::vector<Case>& cases) {
    Mesh mesh(2, 1, settings);
    std::vector<std::string> wrong;
    const auto results = mesh.run([&](int rank, int) {
        std::uint64_t seed = 0;
        for (const Case& c : cases) {
            GuardedBuffer buffer(c.bytes, c.shift);
            KernelResult result = KernelResult::ok;
            ++seed;
            if (rank == 0) {
                buffer.fill(seed);
                p2p::SendTransfer send(mesh.send(0, 0, 1), buffer.data(), c.bytes, c.protocol);
                result = p2p::run_transfers({&send, 1}, {}, mesh.context);
            } else {
                p2p::RecvTransfer receive(mesh.receive(0, 0, 1), buffer.data(), c.bytes,
                                          c.protocol);
                result = p2p::run_transfers({}, {&receive, 1}, mesh.context);
                if (!buffer.holds(seed) || !buffer.guards_intact())
                    wrong.push_back(std::to_string(c.bytes) + " bytes by " + to_string(c.protocol) +
                                    " in " + name_of(settings.mode));
            }
            if (result != KernelResult::ok) return result;
        }
        return KernelResult::ok;
    });
    EXPECT_EQ(results, std::vector<KernelResult>(2, KernelResult::ok)) << name_of(settings.mode);
    EXPECT_TRUE(wrong.empty()) << wrong.size() << " wrong, first: " << wrong.front();
}

std::vector<Case> interesting_cases(const p2p::BufferSizes& sizes, std::uint64_t seed) {
    std::vector<Case> cases;
    std::mt19937_64 random(seed);
    for (const Protocol protocol : kProtocols) {
        const std::size_t slot = sizes.payload(protocol);
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9},
              std::size_t{119}, std::size_t{120}, std::size_t{121}, std::size_t{4095},
              std::size_t{4096}, std::size_t{4097}, slot - 1, slot, slot + 1, slot / 4 - 1,
              slot / 4 + 1, 2 * slot, 2 * slot + 1, 9 * slot + 3})
            cases.push_back({bytes, protocol, random() % 16});
    }
    std::shuffle(cases.begin(), cases.end(), random);  // V-21: protocols take turns on one link
    return cases;
}

TEST(Transfer, EverySizeProtocolAndModeArrivesWhole_V20) {
    for (const EdgeMode mode : kEdgeModes)
        for (const bool check : {false, true}) {
            EdgeSettings settings;
            settings.mode = mode;
            settings.check_sizes = check;
            carry(settings, interesting_cases(settings.sizes, 20 + check));
        }
}

TEST(Transfer, CountersStartNearTheirLimits_V22) {
    for (const std::uint64_t start : {(std::uint64_t{1} << 32) - 11, (std::uint64_t{1} << 31) - 20,
                                      (std::uint64_t{1} << 63) - 5}) {
        EdgeSettings settings;
        settings.start = start;
        carry(settings, interesting_cases(settings.sizes, start));
    }
}

/// Two ranks send to each other at once: neither waits for the other to receive first.
TEST(Transfer, BothDirectionsMoveSideBySide_V20) {
    for (const EdgeMode mode : kEdgeModes) {
        EdgeSettings settings;
        settings.mode = mode;
        Mesh mesh(2, 1, settings);
        const std::size_t bytes = 40 * settings.sizes.slot(Protocol::simple) + 5;
        std::vector<GuardedBuffer> sent, got;
        for (std::uint64_t rank = 0; rank < 2; ++rank) {
            sent.emplace_back(bytes, 3);
            sent.back().fill(rank);
            got.emplace_back(bytes, 1);
        }
        const auto results = mesh.run([&](int rank, int) {
            const auto me = static_cast<std::size_t>(rank);
            p2p::SendTransfer send(mesh.send(0, rank, 1 - rank), sent[me].data(), bytes,
                                   Protocol::simple);
            p2p::RecvTransfer receive(mesh.receive(0, 1 - rank, rank), got[me].data(), bytes,
                                      Protocol::simple);
            return p2p::run_transfers({&send, 1}, {&receive, 1}, mesh.context);
        });
        EXPECT_EQ(results, std::vector<KernelResult>(2, KernelResult::ok)) << name_of(mode);
        EXPECT_TRUE(got[0].holds(1) && got[1].holds(0)) << name_of(mode);
        EXPECT_TRUE(got[0].guards_intact() && got[1].guards_intact()) << name_of(mode);
    }
}

/// Either end of a message of one step may use the short way.
TEST(Transfer, TheShortWayIsTheSameOnTheWire_V21) {
    for (const bool check : {false, true}) {
        EdgeSettings settings;
        settings.check_sizes = check;
        settings.options.ll = {.flag_mask = 0xff, .clean_mask = 0x78};  // wraps on the way (C-42)
        Mesh mesh(2, 1, settings);
        std::string wrong;
        const auto results = mesh.run([&](int rank, int) {
            std::mt19937_64 random(5);
            for (std::uint64_t i = 0; i < 3000; ++i) {
                const Protocol protocol = kProtocols[random() % 3];
                const std::size_t bytes =
                    1 + random() % p2p::one_step_bytes(settings.sizes, protocol);
                const bool short_send = random() % 2 == 0, short_receive = random() % 2 == 0;
                GuardedBuffer buffer(bytes, random() % 16);
                KernelResult result = KernelResult::ok;
                if (rank == 0) {
                    buffer.fill(i);
                    p2p::SendLink& link = mesh.send(0, 0, 1);
                    p2p::SendTransfer send(link, buffer.data(), bytes, protocol);
                    result = short_send ? p2p::send_one_step(link, protocol, buffer.data(), bytes,
                                                             mesh.context)
                                        : p2p::run_transfers({&send, 1}, {}, mesh.context);
                } else {
                    p2p::RecvLink& link = mesh.receive(0, 0, 1);
                    p2p::RecvTransfer receive(link, buffer.data(), bytes, protocol);
                    result = short_receive ? p2p::receive_one_step(link, protocol, buffer.data(),
                                                                   bytes, mesh.context)
                                           : p2p::run_transfers({}, {&receive, 1}, mesh.context);
                    if (!buffer.holds(i) || !buffer.guards_intact())
                        wrong = std::to_string(bytes) + " bytes by " + to_string(protocol);
                }
                if (result != KernelResult::ok) return result;
            }
            return KernelResult::ok;
        });
        EXPECT_EQ(results, std::vector<KernelResult>(2, KernelResult::ok));
        EXPECT_EQ(wrong, "");
    }
}

TEST(Transfer, TheShortWayEndsWithAbortsAndAlarms_V30) {
    for (const bool by_alarm : {false, true}) {
        Mesh mesh(2, 1, EdgeSettings{});
        std::uint32_t alarm = 0;
        const std::vector<std::uint32_t*> alarms{&alarm};
        mesh.context.alarms = &alarms;
        std::atomic_ref(by_alarm ? alarm : mesh.abort).store(1);
        GuardedBuffer buffer(8);
        const auto results = mesh.run([&](int rank, int) {
            if (rank == 1)
                return p2p::receive_one_step(mesh.receive(0, 0, 1), Protocol::ll, buffer.data(), 8,
                                             mesh.context);
            KernelResult result = KernelResult::ok;
            for (int i = 0; i < 9 && result == KernelResult::ok;
                 ++i)  // one more than there are slots
                result = p2p::send_one_step(mesh.send(0, 0, 1), Protocol::simple, buffer.data(), 8,
                                            mesh.context);
            return result;
        });
        EXPECT_EQ(results, std::vector<KernelResult>(2, KernelResult::aborted)) << by_alarm;
        EXPECT_EQ(mesh.abort, 1U) << "raised for the others of this rank";
    }
}

/// What the two ends answer when one names `sent` bytes and the other `expected`.
std::vector<KernelResult> disagree(EdgeSettings settings, Protocol protocol, std::size_t sent,
                                   std::size_t expected, bool& guards) {
    Mesh mesh(2, 1, settings);
    mesh.context.spin.timeout = 100 * kMillisecond;
    GuardedBuffer out(sent), in(expected);
    const auto results = mesh.run([&](int rank, int) {
        p2p::SendTransfer send(mesh.send(0, 0, 1), out.data(), sent, protocol);
        if (rank == 0) return p2p::run_transfers({&send, 1}, {}, mesh.context);
        p2p::RecvTransfer receive(mesh.receive(0, 0, 1), in.data(), expected, protocol);
        return p2p::run_transfers({}, {&receive, 1}, mesh.context);
    });
    guards = in.guards_intact();
    EXPECT_EQ(mesh.abort, 1U);
    return results;
}

TEST(Transfer, CheckedSizesThatDifferAreReported_V33) {
    for (const Protocol protocol : kProtocols) {
        for (const auto& [sent, expected] :
             {std::pair<std::size_t, std::size_t>{100, 50}, {50, 100}, {0, 8}, {9, 10}}) {
            EdgeSettings settings;
            settings.check_sizes = true;
            bool guards = false;
            const auto results = disagree(settings, protocol, sent, expected, guards);
            EXPECT_EQ(results[1], KernelResult::size_mismatch)
                << to_string(protocol) << " " << sent << " against " << expected;
            EXPECT_TRUE(guards);
        }
    }
}

TEST(Transfer, LentBufferOfAnotherSizeIsNeverWritten_V33) {
    EdgeSettings settings;
    settings.mode = EdgeMode::direct;
    bool guards = false;
    const auto results = disagree(settings, Protocol::simple, 6000, 50, guards);
    EXPECT_EQ(results[0], KernelResult::size_mismatch);
    EXPECT_NE(results[1], KernelResult::ok);
    EXPECT_TRUE(guards);
}

TEST(Transfer, DisagreementWithoutChecksEndsByTimeoutAndStaysInBounds_V33) {
    EdgeSettings settings;
    bool guards = false;
    const auto results = disagree(settings, Protocol::simple, 1 << 20, 50, guards);
    EXPECT_EQ(results[0], KernelResult::timed_out);
    EXPECT_TRUE(guards);
}

}  // namespace
}  // namespace duofi::test
