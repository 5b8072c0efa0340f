// One body for every provider, number of ranks and kind of rank: each DUOFI_CONFORMANCE is a test
// for 2, 4 and 8 ranks and the body its ranks run. Provider and kind come from the command line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/conformance_run.hpp"
#include "tests/support/log_capture.hpp"
#include "tests/support/message_plan.hpp"
#include "tests/support/net_link.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/rank_threads.hpp"

namespace duofi::test {

class Conformance : public testing::TestWithParam<int> {};

#define DUOFI_CONFORMANCE(name)                                      \
    static void rank_body_##name(::duofi::test::Rank& rank);         \
    [[maybe_unused]] static const bool rank_body_known_##name =      \
        ::duofi::test::register_rank_body(#name, &rank_body_##name); \
    TEST_P(Conformance, name) {                                      \
        ::duofi::test::run_conformance_body(#name, GetParam());           \
    }                                                                \
    static void rank_body_##name([[maybe_unused]] ::duofi::test::Rank& rank)

// The same body in several threads of each rank at once, each with comms of its own (net contract 3.1, 9.1).
#define DUOFI_CONFORMANCE_IN_THREADS(name)                                     \
    DUOFI_CONFORMANCE(name##_in_threads) {                                     \
        ::duofi::test::in_threads(rank, threads_of(rank), &rank_body_##name);  \
    }

}  // namespace duofi::test
