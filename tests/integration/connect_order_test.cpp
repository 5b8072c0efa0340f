// Many connections under way in one thread, in random order, none of the calls blocks: user report
// A10.
#include <algorithm>
#include <fstream>
#include <random>

#include "tests/integration/integration.hpp"

namespace duofi::test {
namespace {

// Who holds the lock of the endpoint may be off its processor for a while on a busy machine; what blocks does so for seconds.
constexpr Nanoseconds kSleepLimit = patience(500 * kMillisecond), kWorkLimit = kSleepLimit;

/// What the calling thread has spent so far; the kernel counts the waits for a processor apart.
struct ThreadUse {
    Nanoseconds wall = now_ns(), processor = 0, queued = 0;
};

ThreadUse use_now() {
    ThreadUse use;
    std::ifstream file("/proc/thread-self/schedstat");
    require(static_cast<bool>(file >> use.processor >> use.queued), "/proc/thread-self/schedstat cannot be read");
    return use;
}

// A long call counts when the thread slept or worked in it; waiting for the processor is no
// blocking.
template <typename Call>
auto bounded(Call call, const char* what) {
    const ThreadUse before = use_now();
    auto result = call();
    const ThreadUse after = use_now();
    const Nanoseconds worked = after.processor - before.processor;
    const Nanoseconds slept = after.wall - before.wall - worked - (after.queued - before.queued);
    require(slept <= kSleepLimit && worked <= kWorkLimit, "{} slept for {} ms and worked for {} ms", what, slept / kMillisecond,
            worked / kMillisecond);
    return result;
}

// 16 listens, 16 connects, 16 accepts per rank: half of them with the other rank, half with itself.
DUOFI_RANK_BODY(connects_in_random_order) {
    Net& net = Net::process();
    (void)connect_self(net);  // opening the endpoint may take its time
    constexpr std::size_t kCount = 16;
    using Handles = std::array<Handle, kCount>;
    Handles mine{};
    std::vector<Listener> listeners;
    for (std::size_t i = 0; i < kCount; ++i) {
        listeners.push_back(bounded([&] { return open_listener(net); }, "listen"));
        mine[i] = listeners[i].handle;
    }
    const auto all = rank.all_gather(mine);
    std::vector<Connecting> connects;
    for (std::size_t i = 0; i < kCount; ++i) {
        const auto owner = static_cast<std::size_t>(i % 2 == 0 ? rank.index : partner_of(rank));
        connects.emplace_back(net, 0, all[owner][i]);
    }
    std::vector<Link> links(kCount);
    std::minstd_rand random(static_cast<unsigned>(rank.index) + 1);
    const Deadline deadline(kStepPatience);
    for (std::size_t open = 2 * kCount; open > 0;) {
        const std::size_t i = random() % kCount;
        if (random() % 2 == 0) {
            if (links[i].send) continue;
            auto comm = bounded([&] { return connects[i].poll(); }, "connect");
            if (comm) links[i].send = std::move(*comm), --open;
        } else {
            if (links[i].recv) continue;
            auto comm = bounded([&] { return poll_accept(listeners[i]); }, "accept");
            if (comm) links[i].recv = std::move(*comm), --open;
        }
        require(!deadline.passed(), "{} of {} are pending", open, 2 * kCount);
        relax();
    }
    for (Listener& listener : listeners)
        bounded([&] { return listener.comm.close(); }, "closeListen");
    for (std::size_t i = 0; i < kCount; ++i) {
        const int from = i % 2 == 0 ? rank.index : partner_of(rank);
        run_plan(rank, links[i].send, links[i].recv, mixed_plan(6, i), from);
    }
    rank.barrier();
}

class ConnectOrder : public OnProvider {};

TEST_P(ConnectOrder, is_free_and_no_call_blocks) {
    run_group("connects_in_random_order", on_provider(GetParam(), 2));
}

INSTANTIATE_TEST_SUITE_P(providers, ConnectOrder,
                         testing::Values("native", "rxm", "shm", "sockets"), provider_test_name);

}  // namespace
}  // namespace duofi::test
