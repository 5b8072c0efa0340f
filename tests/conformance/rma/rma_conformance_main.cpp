// Command line of the RMA conformance program and the parameters of its tests.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "tests/conformance/rma/rma_conformance.hpp"
#include "tests/support/providers.hpp"
#include "tests/support/rank_crew.hpp"
#include "tests/support/scoped_env.hpp"

namespace duofi::test {
namespace {

struct Choice {
    std::string provider = "native";
    RankMode mode = RankMode::processes;
    std::string version = "16";
    bool full = false;
    Nanoseconds timeout = 60 * kSecond;
};

Choice& choice() {
    static Choice chosen;
    return chosen;
}

bool parse(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.rfind("--provider=", 0) == 0) {
            choice().provider = word.substr(11);
        } else if (word == "--mode=threads" || word == "--mode=processes") {
            choice().mode = word == "--mode=threads" ? RankMode::threads : RankMode::processes;
        } else if (word.rfind("--version=", 0) == 0) {
            choice().version = word.substr(10);
        } else if (word.rfind("--timeout=", 0) == 0) {
            choice().timeout = std::atoi(word.c_str() + 10) * kSecond;
        } else if (word == "--full") {
            choice().full = true;
            choice().timeout = 1800 * kSecond;
        } else if (word.rfind("--gtest_", 0) != 0) {
            std::fprintf(stderr,
                         "usage: [--provider=native|rxm|shm|sockets] [--mode=threads|processes] "
                         "[--version=13..16] [--timeout=<seconds>] [--full]\n");
            return false;
        }
    }
    return true;
}

// Process ranks live for the whole program, one crew per number of ranks.
std::map<int, std::unique_ptr<RankCrew>>& crews() {
    static std::map<int, std::unique_ptr<RankCrew>> all;
    return all;
}

class EndOfCrews : public testing::Environment {
  public:
    void TearDown() override { crews().clear(); }
};

// With sanitizers 8 ranks on a small machine only wait for each other.
std::vector<int> group_sizes() {
    if (choice().provider == "native" && !kSanitized) return {2, 4, 8};
    return {2, 4};
}

}  // namespace

void run_rma_conformance(const char* body, int ranks) {
    GroupOptions options;
    options.ranks = ranks;
    options.mode = choice().mode;
    options.timeout = choice().timeout;
    options.args["provider"] = choice().provider;
    options.args["version"] = choice().version;
    options.args["full"] = choice().full ? "1" : "0";
    if (options.mode == RankMode::threads) return run_group(body, options);
    auto& crew = crews()[ranks];
    if (!crew) crew = std::make_unique<RankCrew>(options);
    crew->run(body);
}

int amount(const Rank& rank, int quick, int full) {
    if (is_full(rank)) return full;
    int value = quick;
    if (rank.text("provider") == "sockets") value /= 10;
    if (kSanitized) value /= 3;
    if (rank.count > 2) value = value * 2 / rank.count;
    return std::max(value, 2);
}

INSTANTIATE_TEST_SUITE_P(ranks, RmaConformance, testing::ValuesIn(group_sizes()),
                         testing::PrintToStringParamName());

}  // namespace duofi::test

int main(int argc, char** argv) {
    using namespace duofi::test;
    if (const int code = run_rank_of_command_line(argc, argv); code >= 0) return code;
    if (!parse(argc, argv)) return 2;  // before the parameters are evaluated
    testing::InitGoogleTest(&argc, argv);
    const ScopedEnv provider("FI_PROVIDER", provider_name(choice().provider));
    const ScopedEnv rma("DUOFI_RMA", "1");  // else the tables decline without device memory
    testing::AddGlobalTestEnvironment(new EndOfCrews);
    return RUN_ALL_TESTS();
}
