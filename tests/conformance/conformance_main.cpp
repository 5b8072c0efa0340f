// Command line of the conformance program and the parameters of its tests.
#include "tests/conformance/conformance.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "tests/support/providers.hpp"
#include "tests/support/rank_crew.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

bool parse(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.rfind("--provider=", 0) == 0) {
            setup().provider = word.substr(11);
        } else if (word == "--mode=threads" || word == "--mode=processes") {
            setup().mode = word == "--mode=threads" ? RankMode::threads : RankMode::processes;
        } else if (word == "--full") {
            setup().full = true;
        } else {
            std::fprintf(
                stderr,
                "usage: [--provider=native|rxm|shm|sockets] [--mode=threads|processes] [--full]\n");
            return false;
        }
    }
    return true;
}

}  // namespace

Setup& setup() {
    static Setup chosen;
    return chosen;
}

namespace {

// Process ranks live for the whole program, one crew per number of ranks.
std::map<int, std::unique_ptr<RankCrew>>& crews() {
    static std::map<int, std::unique_ptr<RankCrew>> all;
    return all;
}

class EndOfCrews : public testing::Environment {
  public:
    void TearDown() override { crews().clear(); }
};

}  // namespace

void run_conformance(const char* body, int ranks) {
    GroupOptions options;
    options.ranks = ranks;
    options.mode = setup().mode;
    options.timeout = (setup().full ? 1800 : 60) * kSecond;
    options.args["provider"] = setup().provider;
    options.args["full"] = setup().full ? "1" : "0";
    if (options.mode == RankMode::threads) return run_group(body, options);
    auto& crew = crews()[ranks];
    if (!crew) crew = std::make_unique<RankCrew>(options);
    crew->run(body);
}

void watch_crews() {
    testing::AddGlobalTestEnvironment(new EndOfCrews);
}

int amount(const Rank& rank, int quick, int full) {
    if (is_full(rank)) return full;
    int value = quick;
    if (rank.text("provider") == "sockets") value /= 10;
    if (kSanitized) value /= 3;
    if (rank.count > 2) value = value * 2 / rank.count;
    return std::max(value, 2);
}

// With sanitizers 8 ranks on a small machine only wait for each other.
INSTANTIATE_TEST_SUITE_P(ranks, Conformance,
                         testing::ValuesIn(kSanitized ? std::vector<int>{2, 4}
                                                      : std::vector<int>{2, 4, 8}),
                         testing::PrintToStringParamName());

}  // namespace duofi::test

int main(int argc, char** argv) {
    using namespace duofi::test;
    if (const int code = run_rank_of_command_line(argc, argv); code >= 0) return code;
    testing::InitGoogleTest(&argc, argv);
    if (!parse(argc, argv)) return 2;
    const ScopedEnv provider("FI_PROVIDER", provider_name(setup().provider));
    watch_crews();
    return RUN_ALL_TESTS();
}
