#include "tests/support/conformance_run.hpp"

#include <malloc.h>

#include <gtest/gtest.h>

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

constexpr int kNodes = 2;
constexpr const char* kUsage =
    "usage: [--provider=native|rxm|shm|sockets] [--mode=threads|processes] [--protocol=sendrecv|rdma]\n"
    "       [--version=N] [--nodes=SHAPE] [--timeout=SECONDS] [--full] [--gtest_...]\n"
    "SHAPE: interfaces of two nodes in namespaces, \"2\" or \"3x1\", then ,ipv6 ,mtu=BYTES ,rate=MBITS ,decoys ,spare\n";

ConformanceChoice& choice() {
    static ConformanceChoice chosen;
    return chosen;
}

std::unique_ptr<JoinedNamespaces>& namespaces() {
    static std::unique_ptr<JoinedNamespaces> joined;
    return joined;
}

// Process ranks live for the whole program, one crew per number of ranks.
std::map<int, std::unique_ptr<RankCrew>>& crews() {
    static std::map<int, std::unique_ptr<RankCrew>> all;
    return all;
}

class EndOfCrews : public testing::Environment {
  public:
    void TearDown() override {
        crews().clear();
        namespaces().reset();
    }
};

// The value behind "--name="; nullptr: another word.
const char* value_of(const std::string& word, const std::string& name) {
    return word.rfind("--" + name + "=", 0) == 0 ? word.c_str() + name.size() + 3 : nullptr;
}

bool take(const std::string& word) {
    ConformanceChoice& to = choice();
    if (const char* provider = value_of(word, "provider")) return to.provider = provider, true;
    if (const char* version = value_of(word, "version")) return to.version = version, true;
    if (const char* seconds = value_of(word, "timeout")) return to.timeout = std::atoi(seconds) * kSecond, true;
    if (const char* shape = value_of(word, "nodes")) return (to.nodes = parse_nodes_shape(shape)).has_value();
    if (word == "--protocol=sendrecv" || word == "--protocol=rdma") return to.protocol = value_of(word, "protocol"), true;
    if (word == "--mode=threads" || word == "--mode=processes")
        return to.mode = word == "--mode=threads" ? RankMode::threads : RankMode::processes, true;
    if (word == "--full") return to.full = true, to.timeout = 1800 * kSecond, true;
    return word.rfind("--gtest_", 0) == 0;
}

bool parse(int argc, char** argv) {
    const bool known = std::all_of(argv + 1, argv + argc, [](const char* word) { return take(word); });
    if (known) return true;
    std::fputs(kUsage, stderr);
    return false;
}

}  // namespace

const ConformanceChoice& conformance_choice() { return choice(); }

GroupOptions conformance_options(int ranks) {
    GroupOptions options;
    options.ranks = ranks;
    options.mode = choice().mode;
    options.timeout = choice().timeout;
    options.args["provider"] = choice().provider;
    if (!choice().protocol.empty()) options.args["protocol"] = choice().protocol;
    if (!choice().version.empty()) options.args["version"] = choice().version;
    options.args["full"] = choice().full ? "1" : "0";
    if (!namespaces()) return options;
    options.mode = RankMode::processes;
    options.args["nodes"] = std::to_string(kNodes);
    for (int rank = 0; rank < ranks; ++rank) options.prefixes.push_back(namespaces()->prefix(rank % kNodes, true));
    return options;
}

void run_conformance_body(const char* body, int ranks) {
    if (choice().nodes && !namespaces()->problem().empty()) GTEST_SKIP() << namespaces()->problem();
    const GroupOptions options = conformance_options(ranks);
    if (options.mode == RankMode::threads) return run_group(body, options);
    auto& crew = crews()[ranks];
    if (!crew) crew = std::make_unique<RankCrew>(options);
    crew->run(body);
}

int amount(const Rank& rank, int quick, int full) {
    if (is_full(rank)) return std::max(quick, full * 2 / rank.count / (rank.lane > 0 ? 4 : 1));
    int value = quick;
    if (rank.text("provider") == "sockets") value /= 10;
    if (kSanitized) value /= 3;
    if (rank.count > 2) value = value * 2 / rank.count;
    if (rank.lane > 0) value /= 2;
    return std::max(value, 2);
}

int conformance_main(int argc, char** argv, const std::map<std::string, std::string>& env) {
    // Buffers of megabytes come and go; as mappings of their own each page would be cleared by the kernel each time.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    ::mallopt(M_ARENA_MAX, 1);  // threads come and go as well
    if (const int code = run_rank_of_command_line(argc, argv); code >= 0) return code;
    if (!parse(argc, argv)) return 2;  // before parameters are evaluated
    testing::InitGoogleTest(&argc, argv);
    std::vector<std::unique_ptr<ScopedEnv>> set;
    set.push_back(std::make_unique<ScopedEnv>("FI_PROVIDER", provider_name(choice().provider)));
    if (!choice().protocol.empty()) set.push_back(std::make_unique<ScopedEnv>("OFI_NCCL_PROTOCOL", choice().protocol));
    for (const auto& [name, value] : env) set.push_back(std::make_unique<ScopedEnv>(name.c_str(), value));
    if (choice().nodes) {
        namespaces() = std::make_unique<JoinedNamespaces>(*choice().nodes);
        if (choice().nodes->ipv6) set.push_back(std::make_unique<ScopedEnv>("OFI_NCCL_USE_IPV6_TCP", "1"));
    }
    testing::AddGlobalTestEnvironment(new EndOfCrews);
    return RUN_ALL_TESTS();
}

}  // namespace duofi::test
