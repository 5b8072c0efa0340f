// How fast large messages of one pair of ranks are, in megabytes per second. A number, and no judgement: rail_rate.sh compares
// those of one rail and of two.
#include <cstdio>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"

namespace duofi::test {

INSTANTIATE_TEST_SUITE_P(ranks, Conformance, testing::Values(2), testing::PrintToStringParamName());

namespace {

constexpr std::size_t kBytes = 4 << 20;
constexpr int kAtOnce = 4;
constexpr int kMessages = 48;

DUOFI_CONFORMANCE(rate_of_large_messages) {
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    const bool sends = rank.index == 0;
    MemoryBuffer buffer(kBytes);
    buffer.fill(1);
    const Registration registration(sends ? link.send : link.recv, buffer.data(), kBytes);
    rank.barrier();
    const Nanoseconds start = now_ns();
    std::vector<void*> open;
    for (int i = 0; i < kMessages + kAtOnce; ++i) {
        if (i >= kAtOnce) {
            (void)wait(net, open.front());
            open.erase(open.begin());
        }
        if (i >= kMessages) continue;
        const Part part{buffer.data(), static_cast<int>(kBytes), 1, registration.handle()};
        open.push_back(sends ? post_send(link.send, part) : post_recv(link.recv, std::span(&part, 1)));
    }
    rank.barrier();
    const double seconds = static_cast<double>(now_ns() - start) / static_cast<double>(kSecond);
    if (sends) std::printf("rate %.1f MB/s\n", kMessages * static_cast<double>(kBytes) / seconds / 1e6);
    std::fflush(stdout);
}

}  // namespace
}  // namespace duofi::test

int main(int argc, char** argv) { return duofi::test::conformance_main(argc, argv); }
