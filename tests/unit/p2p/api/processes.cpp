#include "tests/unit/p2p/api/processes.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "p2p/transport/store_bootstrap.hpp"

namespace duofi::p2p::test {
namespace {

bool full = false;
std::uint16_t port = 0;

constexpr Nanoseconds kPatience = 60 * kSecond;

}  // namespace

bool full_tier() {
    return full;
}

int step_failed(const char* file, int line, const char* what) {
    std::fprintf(stderr, "process %d: %s:%d: %s\n", static_cast<int>(::getpid()), file, line, what);
    return 1;
}

std::unique_ptr<Meeting> meet(int rank, int size) {
    bootstrap::LaunchFacts facts;
    facts.rank = rank;
    facts.size = size;
    facts.root_port = port;
    auto session = bootstrap::open_session(facts, Deadline(kPatience));
    if (!session) return nullptr;
    auto meeting = std::make_unique<Meeting>();
    meeting->session = std::move(*session);
    meeting->bootstrap = store_bootstrap(*meeting->session.store, "p2p");
    return meeting;
}

void run_processes(int size, const RankMain& body, int victim) {
    const auto free_port = bootstrap::free_port();
    ASSERT_TRUE(free_port);
    port = *free_port;
    bootstrap::SpawnRequest request;
    request.size = size;
    request.root_port = port;
    request.timeout = 2 * kPatience;
    request.kill_grace = kPatience;
    const auto outcome = bootstrap::run_ranks(request, [&](int rank) {
        // The others are told to end when one has; here they are to end by themselves.
        std::signal(SIGTERM, SIG_IGN);
        return body(rank);
    });
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->timed_out);
    for (const bootstrap::RankExit& end : outcome->ranks) {
        EXPECT_EQ(end.signal_number, end.rank == victim ? SIGKILL : 0) << "rank " << end.rank;
        if (end.rank != victim) {
            EXPECT_EQ(end.exit_code, 0) << "rank " << end.rank;
        }
    }
}

int open_descriptors() {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++count;
    return count;
}

int segment_mappings() {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    int count = 0;
    while (std::getline(maps, line))
        if (line.find("memfd:") != std::string::npos) ++count;
    return count;
}

}  // namespace duofi::p2p::test

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], "--full") == 0) duofi::p2p::test::full = true;
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
