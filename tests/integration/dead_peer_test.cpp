// A peer that is killed: user report A20, net contract T17, T18, P15, architecture 4.8.
#include <signal.h>
#include <unistd.h>

#include "tests/integration/integration.hpp"

namespace duofi::test {
namespace {

constexpr Nanoseconds kDeathLimit = patience(2 * kSecond);  ///< on one node

// Kills rank 1 and tells the group; returns the time of the deed.
Nanoseconds kill_rank_one(Rank& rank, const std::vector<pid_t>& pids) {
    ::kill(pids[1], SIGKILL);
    rank.channel->drop_members(1);
    return now_ns();
}

void expect_remote_error(const Net& net, void* request, Nanoseconds since, const char* what) {
    const ncclResult_t result = wait_error(net, request, kDeathLimit - (now_ns() - since));
    require(result == ncclRemoteError, "{} gave {}", what, result_name(result));
}

// Rank 2 is a bystander: its link with rank 0 must carry data before, during and after.
Link bystander_link(Rank& rank, const Net& net) {
    constexpr std::array<int, 3> kNext = {2, 1, 0};  // 0 <-> 2, 1 <-> 1
    return connect_link(rank, net, kNext[static_cast<std::size_t>(rank.index)]);
}

void talk(Rank& rank, const Link& link, std::uint64_t seed) {
    if (rank.index != 1) run_plan(rank, link.send, link.recv, mixed_plan(12, seed), 2 - rank.index);
}

// After a death or a stop with large sends in flight. The shm provider of libfabric 1.17 answers
// those in order: its queue stays blocked by what the lost peer never answered, so only small
// messages go on.
void talk_beside_the_unanswered(Rank& rank, const Link& link, std::uint64_t seed) {
    if (rank.text("provider") != "shm") return talk(rank, link, seed);
    Plan plan;
    plan.seed = seed;
    for (const int bytes : {0, 1, 64, 4000, 8192}) plan.add(bytes, bytes);
    if (rank.index != 1) run_plan(rank, link.send, link.recv, plan, 2 - rank.index);
}

Link victim_link(Rank& rank, const Net& net) {
    constexpr std::array<int, 3> kNext = {1, 0, 2};  // 0 <-> 1, 2 <-> 2
    return connect_link(rank, net, kNext[static_cast<std::size_t>(rank.index)]);
}

struct Receives {
    Receives(const Link& link, int count, std::size_t bytes)
        : buffer(bytes * static_cast<std::size_t>(count)),
          mr(link.recv, buffer.data(), buffer.size()) {
        for (int i = 0; i < count; ++i) {
            const Part part{buffer.data() + static_cast<std::size_t>(i) * bytes,
                            static_cast<int>(bytes), 3, mr.handle()};
            requests.push_back(post_recv(link.recv, {&part, 1}));
        }
    }
    MemoryBuffer buffer;
    Registration mr;
    std::vector<void*> requests;
};

// A20: 4 receives, 2 messages, then death; only the last request is tested.
DUOFI_RANK_BODY(death_shows_on_the_request_that_is_tested) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    const auto pids = rank.all_gather(::getpid());
    Link beside = bystander_link(rank, net);
    Link link = victim_link(rank, net);
    talk(rank, beside, 1);
    if (rank.index == 1) {
        MemoryBuffer out(1000);
        Registration mr(link.send, out.data(), out.size());
        for (int i = 0; i < 2; ++i)
            wait(net, post_send(link.send, {out.data(), 1000, 3, mr.handle()}));
        rank.barrier();
        for (;;) ::pause();
    }
    std::optional<Receives> receives;
    if (rank.index == 0) receives.emplace(link, 4, 1000);
    rank.barrier();
    if (rank.index == 0) {
        (void)test_once(net, receives->requests[3], nullptr);
        const Nanoseconds since = kill_rank_one(rank, pids);
        expect_remote_error(net, receives->requests[3], since, "test of the fourth receive");
        expect_remote_error(net, receives->requests[2], now_ns(), "test of the third receive");
        // One that is posted afterwards fails as well, at once or when tested.
        void* request = nullptr;
        void* data = receives->buffer.data();
        int size = 8;
        int tag = 3;
        void* mhandle = receives->mr.handle();
        const ncclResult_t late =
            net->irecv(link.recv.get(), 1, &data, &size, &tag, &mhandle, &request);
        require(late == ncclRemoteError || late == ncclSuccess, "irecv on a dead comm gave {}",
                result_name(late));
        if (late == ncclSuccess && request != nullptr)
            expect_remote_error(net, request, now_ns(), "late receive");
        receives.reset();
        link.send.close();
        link.recv.close();
    }
    talk(rank, beside, 2);
    rank.barrier();
}

// T17: killed in the middle of a stream of large messages, in both directions.
DUOFI_RANK_BODY(death_in_the_middle_of_a_stream) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    const auto pids = rank.all_gather(::getpid());
    Link beside = bystander_link(rank, net);
    Link link = victim_link(rank, net);
    constexpr int kBytes = 4 << 20;
    if (rank.index == 1) {
        MemoryBuffer buffer(kBytes);
        Registration mr(link.recv, buffer.data(), kBytes);
        rank.barrier();
        for (;;) {
            const Part part{buffer.data(), kBytes, 3, mr.handle()};
            wait(net, post_recv(link.recv, {&part, 1}));
        }
    }
    rank.barrier();
    if (rank.index == 0) {
        MemoryBuffer out(kBytes);
        Registration mr(link.send, out.data(), kBytes);
        Receives receives(link, 2, 100000);
        const Part part{out.data(), kBytes, 3, mr.handle()};
        for (int i = 0; i < 3; ++i) wait(net, post_send(link.send, part));
        std::vector<void*> sends;
        for (int i = 0; i < 6; ++i) {
            if (void* request = try_send(link.send, part); request != nullptr)
                sends.push_back(request);
        }
        const Nanoseconds since = kill_rank_one(rank, pids);
        expect_remote_error(net, receives.requests[0], since, "a receive");
        // The first sends may have been finished before the death.
        for (void* request : sends) {
            int done = 0;
            const ncclResult_t result = net->test(request, &done, nullptr);
            require(result == ncclRemoteError || done == 1, "a send is pending on a dead peer");
        }
        const Nanoseconds start = now_ns();
        for (int i = 0; i < 100; ++i) {
            void* request = nullptr;
            const ncclResult_t result =
                net->isend(link.send.get(), out.data(), 64, 3, mr.handle(), &request);
            require(result == ncclSuccess || result == ncclRemoteError, "isend gave {}",
                    result_name(result));
        }
        require(now_ns() - start < patience(kSecond), "isend on a dead comm blocks");
        mr.release();
        receives.mr.release();
        link.recv.close();
        link.send.close();
    }
    talk_beside_the_unanswered(rank, beside, 3);
    rank.barrier();
}

// Death while the comm is idle: the next receive fails, a close alone is quick.
DUOFI_RANK_BODY(death_of_an_idle_peer) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    const auto pids = rank.all_gather(::getpid());
    Link beside = bystander_link(rank, net);
    Link link = victim_link(rank, net);
    Link second = victim_link(rank, net);
    rank.barrier();
    if (rank.index == 1) {
        for (;;) ::pause();
    }
    if (rank.index == 0) {
        kill_rank_one(rank, pids);
        second.send.close();
        second.recv.close();
        void* request = nullptr;
        MemoryBuffer buffer(100);
        Registration mr(link.recv, buffer.data(), buffer.size());
        void* data = buffer.data();
        int size = 100;
        int tag = 0;
        void* mhandle = mr.handle();
        ncclResult_t result = ncclSuccess;
        const Deadline deadline(kDeathLimit);
        while (result == ncclSuccess && request == nullptr && !deadline.passed()) {
            result = net->irecv(link.recv.get(), 1, &data, &size, &tag, &mhandle, &request);
        }
        if (result == ncclSuccess) result = wait_error(net, request, kDeathLimit);
        require(result == ncclRemoteError, "a receive from a dead peer gave {}",
                result_name(result));
    }
    talk(rank, beside, 4);
    rank.barrier();
}

// T18: the peer dies between its first connect call and our accept; then a connect to nobody.
DUOFI_RANK_BODY(death_while_connecting) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    const auto pids = rank.all_gather(::getpid());
    Link beside = bystander_link(rank, net);
    Listener listener = open_listener(net);
    const auto handles = rank.all_gather(listener.handle);
    Connecting connecting(net, 0, handles[rank.index == 1 ? 0 : 1]);
    if (rank.index == 1) {
        for (int i = 0; i < 20; ++i) {
            if (connecting.poll()) break;
            relax();
        }
        rank.barrier();
        for (;;) ::pause();
    }
    rank.barrier();
    if (rank.index == 0) {
        kill_rank_one(rank, pids);
        const Deadline some(500 * kMillisecond);
        while (!some.passed()) {
            void* comm = nullptr;
            const ncclResult_t result = net->accept(listener.comm.get(), &comm);
            require(result == ncclSuccess || result == ncclRemoteError, "accept gave {}",
                    result_name(result));
            if (comm == nullptr) continue;
            Comm(net, CommKind::recv, comm).close();
        }
        ncclResult_t result = ncclSuccess;
        const Deadline deadline(patience(20 * kSecond));
        while (result == ncclSuccess) {
            void* comm = nullptr;
            result = connecting.raw_poll(&comm);
            require(comm == nullptr, "connected to a dead process");
            require(!deadline.passed(), "connect to a dead process is pending for ever");
            relax();
        }
        require(result == ncclRemoteError, "connect to a dead process gave {}",
                result_name(result));
        listener.comm.close();
    }
    talk(rank, beside, 5);
    rank.barrier();
}

class DeadPeer : public OnProvider {
  protected:
    void run(const char* body) {
        GroupOptions options = on_provider(GetParam(), 3);
        options.ends[1] = RankEnd::killed;
        options.env["DUOFI_CONNECT_TIMEOUT"] = "5";
        run_group(body, options);
    }
};

TEST_P(DeadPeer, shows_on_the_request_that_is_tested) {
    run("death_shows_on_the_request_that_is_tested");
}
TEST_P(DeadPeer, in_the_middle_of_a_stream) {
    run("death_in_the_middle_of_a_stream");
}
TEST_P(DeadPeer, of_an_idle_comm) {
    run("death_of_an_idle_peer");
}
TEST_P(DeadPeer, while_connecting) {
    run("death_while_connecting");
}

INSTANTIATE_TEST_SUITE_P(providers, DeadPeer, testing::Values("native", "rxm", "shm", "sockets"),
                         provider_test_name);

}  // namespace
}  // namespace duofi::test
