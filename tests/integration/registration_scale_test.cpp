// Very many registrations, and several in one page: user reports A12, A13.
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/integration/integration.hpp"

namespace duofi::test {
namespace {

// A12: 10,000 at once, then released and made again at random; no key is ever refused.
DUOFI_RANK_BODY(ten_thousand_registrations) {
    Net& net = Net::process();
    Link link = connect_self(net);
    constexpr std::size_t kCount = 10000;
    constexpr std::size_t kStride = 4096;
    std::vector<std::uint8_t> memory(kCount * kStride);
    std::vector<Registration> held;
    for (std::size_t i = 0; i < kCount; ++i)
        held.emplace_back(link.send, memory.data() + i * kStride, 64 + i % 4000);
    std::minstd_rand random(2);
    for (int i = 0; i < 5000; ++i) {
        const std::size_t at = random() % kCount;
        held[at].release();
        held[at] = Registration(link.send, memory.data() + at * kStride, kStride);
    }
    // The same buffer several times, also through the other comm.
    std::vector<Registration> same;
    for (int i = 0; i < 10; ++i)
        same.emplace_back(i % 2 == 0 ? link.send : link.recv, memory.data(), 1000);
    transfer_self(link, 100000, 1);
    same.erase(same.begin(), same.begin() + 5);
    transfer_self(link, 100000, 2);
    held.clear();
    transfer_self(link, 100000, 3);
}

// A13: buffers of 100 bytes at 0, 200 and 4000 of a page; any of them may go first.
DUOFI_RANK_BODY(small_buffers_in_one_page) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_self(net);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    MemoryBuffer buffer(2 * page + page);
    auto* base = reinterpret_cast<std::uint8_t*>(
        (reinterpret_cast<std::uintptr_t>(buffer.data()) + page - 1) / page * page);
    const std::array<std::size_t, 3> offsets = {0, 200, page - 96};  // the last one crosses a page
    std::array<std::size_t, 3> order = {0, 1, 2};
    do {
        std::vector<Registration> sends;
        std::vector<Registration> recvs;
        std::vector<MemoryBuffer> in;
        for (std::size_t i = 0; i < 3; ++i) in.emplace_back(100);
        for (std::size_t i = 0; i < 3; ++i) {
            fill_pattern(base + offsets[i], 100, i);
            sends.emplace_back(link.send, base + offsets[i], 100);
            recvs.emplace_back(link.recv, in[i].data(), 100);
        }
        for (std::size_t gone = 0; gone < 3; ++gone) {
            for (std::size_t k = gone; k < 3; ++k) {
                const std::size_t i = order[k];
                in[i].poison();
                const Part part{in[i].data(), 100, 0, recvs[i].handle()};
                void* recv = post_recv(link.recv, {&part, 1});
                wait(net, post_send(link.send, {base + offsets[i], 100, 0, sends[i].handle()}));
                wait(net, recv);
                require(!first_mismatch(in[i].data(), 100, i) && in[i].guards_intact(),
                        "buffer {} is wrong", i);
            }
            // Bytes of the page that were not registered stay outside.
            void* request = nullptr;
            const std::size_t i = order[gone];
            require(net->isend(link.send.get(), base + offsets[i] + 50, 51, 0, sends[i].handle(),
                               &request) == ncclInvalidArgument,
                    "a range beyond the registration was accepted");
            sends[i].release();
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

class RegistrationScale : public OnProvider {};

TEST_P(RegistrationScale, ten_thousand_at_once) {
    run_group("ten_thousand_registrations", on_provider(GetParam(), 1));
}
TEST_P(RegistrationScale, several_in_one_page) {
    run_group("small_buffers_in_one_page", on_provider(GetParam(), 1));
}

INSTANTIATE_TEST_SUITE_P(providers, RegistrationScale,
                         testing::Values("native", "rxm", "shm", "sockets"), provider_test_name);

}  // namespace
}  // namespace duofi::test
