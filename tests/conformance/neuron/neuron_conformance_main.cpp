// How the bodies of Neuron's tables are run.
#include "tests/conformance/neuron/neuron_conformance.hpp"
#include "tests/support/conformance_run.hpp"

namespace duofi::test {

void run_neuron_conformance(const char* body, int first_version, Ranks ranks) {
    const ConformanceChoice& choice = conformance_choice();
    const int version = choice.version.empty() ? 6 : std::stoi(choice.version);
    if (version < first_version) GTEST_SKIP() << "from v" << first_version << " on";
    if (ranks == Ranks::shared) return run_conformance_body(body, 2);
    if (choice.mode == RankMode::threads) GTEST_SKIP() << "needs processes of its own";
    GroupOptions options = conformance_options(2);
    options.env["DUOFI_STALL_SECONDS"] = "1";
    if (ranks == Ranks::own_second_killed) options.ends[1] = RankEnd::killed;
    run_group(body, options);
}

}  // namespace duofi::test

int main(int argc, char** argv) { return duofi::test::conformance_main(argc, argv); }
