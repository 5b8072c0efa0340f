// One body for every provider, table version and kind of rank: each DUOFI_NEURON_CONFORMANCE is a test and the body
// that its two ranks run. Provider, kind and version come from the command line.
#pragma once

#include <gtest/gtest.h>

#include "tests/conformance/neuron/nccom.hpp"
#include "tests/support/log_capture.hpp"

namespace duofi::test {

/// Where a body runs: with the others in lasting ranks; or in processes of its own, which it may leave in any state;
/// or in such of which it kills the second.
enum class Ranks { shared, own, own_second_killed };

void run_neuron_conformance(const char* body, int first_version, Ranks ranks);

/// The table that the command line chose, initialised.
[[nodiscard]] inline const Nccom& nccom_of(const Rank& rank) { return Nccom::process(rank.number("version", 6)); }

/// `first_version`: the oldest table that has what the body needs.
#define DUOFI_NEURON_CONFORMANCE_WITH(name, first_version, ranks)           \
    static void rank_body_##name(::duofi::test::Rank& rank);                \
    [[maybe_unused]] static const bool rank_body_known_##name =             \
        ::duofi::test::register_rank_body(#name, &rank_body_##name);        \
    TEST(NeuronConformance, name) {                                         \
        ::duofi::test::run_neuron_conformance(#name, first_version, ranks); \
    }                                                                       \
    static void rank_body_##name([[maybe_unused]] ::duofi::test::Rank& rank)
#define DUOFI_NEURON_CONFORMANCE(name, first_version) \
    DUOFI_NEURON_CONFORMANCE_WITH(name, first_version, ::duofi::test::Ranks::shared)

}  // namespace duofi::test
