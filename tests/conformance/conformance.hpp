// One body for every provider, number of ranks and kind of rank: each DUOFI_CONFORMANCE is a test
// for 2, 4 and 8 ranks and the body its ranks run. Provider and kind come from the command line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/log_capture.hpp"
#include "tests/support/message_plan.hpp"
#include "tests/support/net_link.hpp"
#include "tests/support/peer_group.hpp"

namespace duofi::test {

/// What the command line chose.
struct Setup {
    std::string provider = "native";  ///< native, rxm, shm or sockets
    RankMode mode = RankMode::processes;
    bool full = false;
};
[[nodiscard]] Setup& setup();

class Conformance : public testing::TestWithParam<int> {};

void run_conformance(const char* body, int ranks);

/// How much of something a rank does: fewer where the provider is slow, the group large or the
/// build instrumented; `full` instead in the long tier. At least 2.
[[nodiscard]] int amount(const Rank& rank, int quick, int full);
[[nodiscard]] inline int amount(const Rank& rank, int quick) {
    return amount(rank, quick, quick * 4);
}

[[nodiscard]] inline bool is_full(const Rank& rank) {
    return rank.number("full", 0) != 0;
}

/// Where each message takes milliseconds.
[[nodiscard]] inline bool is_slow(const Rank& rank) {
    return rank.text("provider") == "sockets" && !is_full(rank);
}

#define DUOFI_CONFORMANCE(name)                                      \
    static void rank_body_##name(::duofi::test::Rank& rank);         \
    [[maybe_unused]] static const bool rank_body_known_##name =      \
        ::duofi::test::register_rank_body(#name, &rank_body_##name); \
    TEST_P(Conformance, name) {                                      \
        ::duofi::test::run_conformance(#name, GetParam());           \
    }                                                                \
    static void rank_body_##name([[maybe_unused]] ::duofi::test::Rank& rank)

}  // namespace duofi::test
