// A peer that is stopped and goes on later: user report A18, architecture 4.8: silence is no death.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/integration.hpp"
#include "tests/support/process_facts.hpp"

namespace duofi::test {
namespace {

// Owns pages that really leave the address space.
class Mapping {
  public:
    explicit Mapping(std::size_t bytes)
        : bytes_(bytes),
          at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        require(at_ != MAP_FAILED, "no mapping");
    }
    ~Mapping() { ::munmap(at_, bytes_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    [[nodiscard]] char* data() const { return static_cast<char*>(at_); }

  private:
    std::size_t bytes_;
    void* at_;
};

// Large sends of shm wait behind those that the stopped peer has not answered yet (libfabric 1.17).
Plan plan_beside_the_stopped(const Rank& rank) {
    if (rank.text("provider") != "shm") return mixed_plan(12, 1);
    Plan plan;
    for (const int bytes : {0, 1, 64, 4000, 8192}) plan.add(bytes, bytes);
    return plan;
}

// A18: 8 receives that never match and 8 sends to a stopped peer; close, release, unmap, continue
// it.
DUOFI_RANK_BODY(close_towards_a_stopped_peer) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    const auto pids = rank.all_gather(::getpid());
    const bool victim = rank.index == 1;
    Link doomed =
        connect_link(rank, net, std::array<int, 3>{1, 0, 2}[static_cast<std::size_t>(rank.index)]);
    Link beside =
        connect_link(rank, net, std::array<int, 3>{2, 1, 0}[static_cast<std::size_t>(rank.index)]);
    if (victim) {
        rank.barrier();  // stopped and continued while it waits for the others at the next one
        rank.barrier();
        doomed.send.close();
        doomed.recv.close();
        rank.barrier();
        return;
    }
    rank.barrier();
    if (rank.index == 0) {
        stop_process(pids[1]);
        for (const std::size_t bytes : {std::size_t{4000}, std::size_t{1} << 20}) {
            rank.step("in flight " + std::to_string(bytes));
            Mapping memory(bytes * 16);
            std::vector<Registration> registrations;
            for (std::size_t i = 0; i < 8; ++i) {
                registrations.emplace_back(doomed.recv, memory.data() + i * bytes, bytes);
                const Part part{memory.data() + i * bytes, static_cast<int>(bytes), 9,
                                registrations.back().handle()};
                (void)try_recv(doomed.recv, {&part, 1});
                registrations.emplace_back(doomed.send, memory.data() + (8 + i) * bytes, bytes);
                (void)try_send(doomed.send,
                               {memory.data() + (8 + i) * bytes, static_cast<int>(bytes), 8,
                                registrations.back().handle()});
            }
            registrations.clear();
            if (bytes == 4000) continue;
            doomed.recv.close();
            doomed.send.close();
        }
    }
    run_plan(rank, beside.send, beside.recv, plan_beside_the_stopped(rank), 2 - rank.index);
    if (rank.index == 0) ::kill(pids[1], SIGCONT);
    rank.barrier();
    run_plan(rank, beside.send, beside.recv, mixed_plan(12, 2), 2 - rank.index);
    rank.barrier();
}

// A peer that was stopped for a while resumes without an error on either side.
DUOFI_RANK_BODY(a_long_stop_is_no_death) {
    log_capture::expect_warn("");  // one line about the stalled operations
    const int seconds = rank.number("seconds", 40);
    Net& net = Net::process();
    const auto pids = rank.all_gather(::getpid());
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(12, 1));
    constexpr int kBytes = 1 << 20;
    MemoryBuffer in(kBytes);
    MemoryBuffer out(kBytes);
    const Registration recv_mr(link.recv, in.data(), kBytes);
    const Registration send_mr(link.send, out.data(), kBytes);
    out.fill(static_cast<std::uint64_t>(rank.index));
    rank.barrier();
    const Part part{in.data(), kBytes, 1, recv_mr.handle()};
    void* recv = nullptr;
    void* send = nullptr;
    bool recv_done = false;
    bool send_done = false;
    std::optional<Deadline> stopped;
    if (rank.index == 0) {
        recv = post_recv(link.recv, {&part, 1});
        stop_process(pids[1]);
        stopped.emplace(seconds * kSecond);
    } else {
        rank.barrier();  // stopped while it waits here
    }
    while (stopped && !stopped->passed()) {
        if (send == nullptr) send = try_send(link.send, {out.data(), kBytes, 1, send_mr.handle()});
        if (send != nullptr && !send_done) send_done = test_once(net, send, nullptr);
        require(!test_once(net, recv, nullptr), "a receive completed without a sender");
        timespec pause{0, 1 * kMillisecond};
        ::nanosleep(&pause, nullptr);
    }
    if (stopped) {
        ::kill(pids[1], SIGCONT);
        rank.barrier();
    }
    const Deadline deadline(seconds * kSecond + patience(30 * kSecond));
    while (!recv_done || !send_done) {
        if (recv == nullptr) recv = try_recv(link.recv, {&part, 1});
        if (send == nullptr) send = try_send(link.send, {out.data(), kBytes, 1, send_mr.handle()});
        if (recv != nullptr && !recv_done) recv_done = test_once(net, recv, nullptr);
        if (send != nullptr && !send_done) send_done = test_once(net, send, nullptr);
        require(!deadline.passed(), "no resumption: receive {} send {}", recv_done, send_done);
        relax();
    }
    require(!first_mismatch(in.data(), kBytes, static_cast<std::uint64_t>(1 - rank.index)),
            "wrong data");
    run_plan(rank, link, mixed_plan(24, 2));
    rank.barrier();
}

// A receive may wait for a healthy, silent peer as long as it likes.
DUOFI_RANK_BODY(silence_of_a_healthy_peer_is_no_death) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link link = connect_pair(rank, net);
    run_plan(rank, link, mixed_plan(6, 1));
    MemoryBuffer in(100);
    const Registration mr(link.recv, in.data(), 100);
    const Part part{in.data(), 100, 77, mr.handle()};
    void* recv = post_recv(link.recv, {&part, 1});
    rank.barrier();
    const Deadline silence(rank.number("seconds", 35) * kSecond);
    while (!silence.passed()) {
        if (rank.index == 0) require(!test_once(net, recv, nullptr), "completed without a sender");
        timespec pause{0, 5 * kMillisecond};
        ::nanosleep(&pause, nullptr);  // the odd rank calls nothing at all
    }
    rank.barrier();
    const Registration send_mr(link.send, in.data(), 100);
    wait(net, post_send(link.send, {in.data(), 100, 77, send_mr.handle()}));
    wait(net, recv);
    rank.barrier();
}

class StoppedPeer : public OnProvider {
  protected:
    void run(const char* body, int ranks, int seconds) {
        GroupOptions options = on_provider(GetParam(), ranks);
        options.args["seconds"] = std::to_string(seconds);
        options.timeout = (seconds + 60) * kSecond;
        run_group(body, options);
    }
};

TEST_P(StoppedPeer, closes_do_not_wait_for_it) {
    run("close_towards_a_stopped_peer", 3, 0);
}
TEST_P(StoppedPeer, resumes_after_a_short_stop) {
    run("a_long_stop_is_no_death", 2, 3);
}

TEST_P(StoppedPeer, resumes_after_forty_seconds) {
    if (!full_tier() && std::string(GetParam()) != "native")
        GTEST_SKIP() << "other providers: full tier";
    run("a_long_stop_is_no_death", 2, 40);
}

TEST_P(StoppedPeer, ten_silent_minutes_are_fine) {
    if (!full_tier()) GTEST_SKIP() << "full tier";
    run("silence_of_a_healthy_peer_is_no_death", 2, 600);
}

INSTANTIATE_TEST_SUITE_P(providers, StoppedPeer, testing::Values("native", "rxm", "shm", "sockets"),
                         provider_test_name);

}  // namespace
}  // namespace duofi::test
