// One body for every provider, table version, number of ranks and kind of rank: each
// DUOFI_RMA_CONFORMANCE is a test for 2 and 4 ranks (and 8 on the native provider) and the body its
// ranks run. Provider, kind and version come from the command line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/log_capture.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/rma_exchange.hpp"
#include "tests/support/rma_team.hpp"

namespace duofi::test {

class RmaConformance : public testing::TestWithParam<int> {};

void run_rma_conformance(const char* body, int ranks);

/// The table that the command line chose.
[[nodiscard]] inline const Rma& rma_of(const Rank& rank) {
    return Rma::process(rank.number("version", kNewestRma));
}

[[nodiscard]] inline bool is_full(const Rank& rank) {
    return rank.number("full", 0) != 0;
}

/// Where each operation takes milliseconds.
[[nodiscard]] inline bool is_slow(const Rank& rank) {
    return rank.text("provider") == "sockets" && !is_full(rank);
}

/// How much of something a rank does: fewer where the provider is slow, the group large or the
/// build instrumented; `full` instead in the long tier. At least 2.
[[nodiscard]] int amount(const Rank& rank, int quick, int full);

/// Calls a data function that must refuse its arguments with ncclInvalidArgument and a NULL request
///
template <typename Call>
void expect_refused(Call call, const char* what, ncclResult_t code = ncclInvalidArgument) {
    void* request = &request;
    const ncclResult_t result = call(&request);
    require(result == code, "{} gave {}, not {}", what, result_name(result), result_name(code));
    require(request == nullptr, "{} was refused with a request", what);
}

#define DUOFI_RMA_CONFORMANCE(name)                                  \
    static void rank_body_##name(::duofi::test::Rank& rank);         \
    [[maybe_unused]] static const bool rank_body_known_##name =      \
        ::duofi::test::register_rank_body(#name, &rank_body_##name); \
    TEST_P(RmaConformance, name) {                                   \
        ::duofi::test::run_rma_conformance(#name, GetParam());       \
    }                                                                \
    static void rank_body_##name([[maybe_unused]] ::duofi::test::Rank& rank)

}  // namespace duofi::test
