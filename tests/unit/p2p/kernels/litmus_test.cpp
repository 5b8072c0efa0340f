// The protocols under real reordering (V-38): two threads, every word of every message compared.
// Pairs of CPUs are tried in turn where there are some to choose from.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

#include "p2p/kernels/transfer.hpp"
#include "tests/support/failure.hpp"
#include "tests/unit/p2p/kernels/wired.hpp"

namespace duofi::test {
namespace {

using p2p::KernelResult;
using p2p::Protocol;

int messages_per_case() {
    const char* text = std::getenv("DUOFI_TEST_MESSAGES");
    return text ? std::atoi(text) : kSanitized ? 500 : 5'000;  // each costs ten times as much there
}

/// Best effort: without the right to it the scheduler's choice is as good.
void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    (void)::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// Message i consists of words that all follow from i: an old word among new ones shows.
KernelResult stream(int rank, Mesh& mesh, Protocol protocol, int messages, std::uint64_t& torn) {
    constexpr std::size_t kWords = 31;
    std::uint64_t words[kWords];
    for (int i = 0; i < messages; ++i) {
        const std::uint64_t value = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15 + 1;
        KernelResult result;
        if (rank == 0) {
            for (std::size_t w = 0; w < kWords; ++w) words[w] = value + w;
            p2p::SendTransfer send(mesh.send(0, 0, 1), words, sizeof words, protocol);
            result = p2p::run_transfers({&send, 1}, {}, mesh.context);
        } else {
            p2p::RecvTransfer receive(mesh.receive(0, 0, 1), words, sizeof words, protocol);
            result = p2p::run_transfers({}, {&receive, 1}, mesh.context);
            for (std::size_t w = 0; w < kWords; ++w) torn += words[w] != value + w;
        }
        if (result != KernelResult::ok) return result;
    }
    return KernelResult::ok;
}

TEST(Litmus, NoTornMessageBetweenAnyTwoCpus_V38) {
    const int cpus = static_cast<int>(std::thread::hardware_concurrency());
    for (const int other : {cpus > 1 ? 1 : 0, cpus - 1}) {
        for (const EdgeMode mode : kEdgeModes) {
            for (const Protocol protocol : kProtocols) {
                EdgeSettings settings;
                settings.mode = mode;
                Mesh mesh(2, 1, settings);
                std::uint64_t torn = 0;
                const auto results = mesh.run([&](int rank, int) {
                    pin(rank == 0 ? 0 : other);
                    return stream(rank, mesh, protocol, messages_per_case(), torn);
                });
                EXPECT_EQ(results, std::vector<KernelResult>(2, KernelResult::ok));
                EXPECT_EQ(torn, 0U) << to_string(protocol) << " CPUs 0 and " << other;
            }
        }
        if (cpus <= 2) break;
    }
}

}  // namespace
}  // namespace duofi::test
