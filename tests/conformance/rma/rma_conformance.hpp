// One body for every provider, table version, number of ranks and kind of rank: each
// DUOFI_RMA_CONFORMANCE is a test for 2 and 4 ranks (and 8 on the native provider) and the body its
// ranks run. Provider, kind and version come from the command line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/conformance_run.hpp"
#include "tests/support/log_capture.hpp"
#include "tests/support/peer_group.hpp"
#include "tests/support/rma_exchange.hpp"
#include "tests/support/rma_team.hpp"

namespace duofi::test {

class RmaConformance : public testing::TestWithParam<int> {};

/// The table that the command line chose.
[[nodiscard]] inline const Rma& rma_of(const Rank& rank) {
    return Rma::process(rank.number("version", kNewestRma));
}

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
        ::duofi::test::run_conformance_body(#name, GetParam());      \
    }                                                                \
    static void rank_body_##name([[maybe_unused]] ::duofi::test::Rank& rank)

}  // namespace duofi::test
