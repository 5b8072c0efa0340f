// Closing with operations in flight: net contract 3.7, 9.1 inflight_close, T16, A18.
#include <atomic>
#include <memory>

#include "tests/conformance/conformance.hpp"
#include "tests/support/memory_buffer.hpp"

namespace duofi::test {
namespace {

constexpr int kTries = 100;

struct Flight {
    std::vector<std::unique_ptr<MemoryBuffer>> buffers;
    std::vector<Registration> registrations;
    int sends = 0;
    int recvs = 0;
};

// One offer; an error is the peer's right once it closed its end.
bool taken(ncclResult_t result, void* request) {
    require(result == ncclSuccess || result == ncclRemoteError, "a post gave {}",
            result_name(result));
    return result == ncclSuccess && request != nullptr;
}

bool offer_recv(const Link& link, MemoryBuffer& buffer, int tag, void* mhandle) {
    void* data = buffer.data();
    int size = static_cast<int>(buffer.size());
    void* request = nullptr;
    const ncclResult_t result =
        link.recv.net()->irecv(link.recv.get(), 1, &data, &size, &tag, &mhandle, &request);
    return taken(result, request);
}

bool offer_send(const Link& link, MemoryBuffer& buffer, int tag, void* mhandle) {
    void* request = nullptr;
    const ncclResult_t result = link.send.net()->isend(
        link.send.get(), buffer.data(), static_cast<int>(buffer.size()), tag, mhandle, &request);
    return taken(result, request);
}

// Posts what the comm takes and tests nothing.
Flight launch(const Link& link, int count, std::size_t bytes, int send_tag, int recv_tag) {
    Flight flight;
    for (int i = 0; i < count; ++i) {
        flight.buffers.push_back(std::make_unique<MemoryBuffer>(bytes));
        flight.registrations.emplace_back(link.recv, flight.buffers.back()->data(), bytes);
        for (int k = 0; k < kTries && flight.recvs <= i; ++k) {
            flight.recvs += offer_recv(link, *flight.buffers.back(), recv_tag,
                                       flight.registrations.back().handle())
                                ? 1
                                : 0;
        }
    }
    for (int i = 0; i < count; ++i) {
        flight.buffers.push_back(std::make_unique<MemoryBuffer>(bytes));
        flight.buffers.back()->fill(static_cast<std::uint64_t>(i));
        flight.registrations.emplace_back(link.send, flight.buffers.back()->data(), bytes);
        for (int k = 0; k < kTries && flight.sends <= i; ++k) {
            flight.sends += offer_send(link, *flight.buffers.back(), send_tag,
                                       flight.registrations.back().handle())
                                ? 1
                                : 0;
        }
    }
    return flight;
}

Plan usual(std::uint64_t seed) {
    Plan plan;
    plan.seed = seed;
    for (const int bytes : {1, 64, 8192, 8193, 50000, 200000}) plan.add(bytes, bytes);
    return plan;
}

// 9.1 inflight_close: many large messages both ways, deregister, close, free, connect again.
DUOFI_CONFORMANCE(close_with_traffic_in_flight) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    const int rounds = amount(rank, 10);
    const int count = rank.count == 2 && rank.lane == 0 ? 32 : 8;
    for (int round = 0; round < rounds; ++round) {
        rank.step("round " + std::to_string(round));
        Link link = connect_pair(rank, net);
        Flight flight = launch(link, count, 1 << 20, 1, 1);
        require(round % 2 != 0 || flight.recvs > 0, "no receive was taken");
        if (round % 2 == 0) rank.barrier();
        flight.registrations.clear();
        if (round % 3 == 0) {
            link.recv.close();
            link.send.close();
        } else {
            link.send.close();
            link.recv.close();
        }
        flight.buffers.clear();
    }
    rank.step("afterwards");
    Link link = connect_pair(rank, net);
    run_plan(rank, link, usual(3));
    rank.barrier();
}
DUOFI_CONFORMANCE_IN_THREADS(close_with_traffic_in_flight)

// A18: receives that nothing matches and sends that nobody takes: no byte lands after the close.
DUOFI_CONFORMANCE(close_with_unmatched_requests) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{8192}, std::size_t{100000}}) {
        Link link = connect_pair(rank, net);
        Flight flight = launch(link, 8, bytes, 5, 6);
        rank.barrier();
        flight.registrations.clear();
        link.send.close();
        link.recv.close();
        for (auto& buffer : flight.buffers) buffer->poison();
        Link other = connect_pair(rank, net);
        run_plan(rank, other, usual(bytes));
        for (auto& buffer : flight.buffers)
            require(buffer->poisoned(), "data landed after the close");
        rank.barrier();
    }
}

// T16: one comm of an endpoint closes with work in flight, the others notice nothing.
DUOFI_CONFORMANCE(other_comms_survive_a_close) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    Link doomed = connect_pair(rank, net);
    Link second = connect_pair(rank, net);
    Link third = connect_pair(rank, net);
    Flight flight = launch(doomed, 8, 300000, 1, 2);
    run_plan(rank, second, usual(1));
    if (rank.index % 2 == 0) {
        flight.registrations.clear();
        doomed.send.close();
        doomed.recv.close();
    }
    run_plan(rank, second, usual(2));
    run_plan(rank, third, usual(3));
    if (rank.index % 2 == 1) {
        flight.registrations.clear();
        doomed.recv.close();
        doomed.send.close();
    }
    flight.buffers.clear();
    run_plan(rank, third, usual(4));
    run_plan(rank, second, usual(5));
    rank.barrier();
}

// Checked traffic over all links, `rounds` times; tells how many rounds are done.
void keep_working(Rank& rank, const std::vector<Link>& links, int rounds, std::atomic<int>& done) {
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t k = 0; k < links.size(); ++k)
            run_plan(rank, links[k], usual(static_cast<std::uint64_t>(round) * 100 + k));
        done.store(round + 1);
    }
}

// T16: 32 x 1 MiB each way are in flight on one comm; it closes while eight others between the same two ranks, in another
// thread, are in the middle of their work.
DUOFI_CONFORMANCE(eight_comms_work_on_while_one_closes) {
    log_capture::expect_warn("");
    Net& net = Net::process();
    std::vector<Link> others;
    const int count = is_slow(rank) && rank.count > 2 ? 2 : 8;
    for (int k = 0; k < count; ++k) others.push_back(connect_pair(rank, net));
    std::atomic<int> before{0};
    keep_working(rank, others, 1, before);
    for (int turn = 0; turn < amount(rank, 2, 20); ++turn) {
        rank.step("turn " + std::to_string(turn));
        Link doomed = connect_pair(rank, net);
        Flight flight = launch(doomed, rank.count == 2 ? 32 : 8, 1 << 20, 1, 1);
        std::atomic<int> during{0};
        const auto close_in_the_middle = [&] {
            const Deadline deadline(kStepPatience);
            while (during.load() < 1) {
                require(!deadline.passed() && !rank.channel->broken(), "the others do not get on");
                relax();
            }
            if (turn % 2 == 0) flight.registrations.clear();
            if (rank.index % 2 == 0) doomed.send.close();
            doomed.recv.close();
            if (rank.index % 2 == 1) doomed.send.close();
            flight = {};
        };
        run_beside(rank, close_in_the_middle, [&] { keep_working(rank, others, 3, during); });
    }
    std::atomic<int> after{0};
    keep_working(rank, others, 1, after);
    rank.barrier();
}

// 3.7: sends that were reported done arrive although the sender closed at once.
DUOFI_CONFORMANCE(finished_sends_survive_the_close) {
    Net& net = Net::process();
    for (int round = 0; round < amount(rank, 12); ++round) {
        Link link = connect_pair(rank, net);
        constexpr std::size_t kBytes = 2000;
        constexpr int kCount = 8;
        MemoryBuffer out(kBytes * kCount);
        MemoryBuffer in(kBytes * kCount);
        out.fill(static_cast<std::uint64_t>(round));
        {
            Registration mr(link.send, out.data(), out.size());
            std::vector<void*> sends;
            for (std::size_t i = 0; i < kCount; ++i) {
                sends.push_back(
                    post_send(link.send, {out.data() + i * kBytes, kBytes, 0, mr.handle()}));
            }
            // Small sends complete without a receiver; should one need it, the receives below
            // follow.
            rank.barrier();
            Registration recv_mr(link.recv, in.data(), in.size());
            std::vector<void*> recvs;
            for (std::size_t i = 0; i < kCount; ++i) {
                const Part part{in.data() + i * kBytes, kBytes, 0, recv_mr.handle()};
                recvs.push_back(post_recv(link.recv, {&part, 1}));
            }
            for (void* send : sends) wait(net, send);
            mr.release();
            link.send.close();
            for (void* recv : recvs) require(wait(net, recv)[0] == kBytes, "size");
        }
        require(!first_mismatch(in.data(), in.size(), static_cast<std::uint64_t>(round)),
                "wrong data");
        link.recv.close();
    }
    rank.barrier();
}

// 3.7: callers do not wait for each other: a receiver that has everything closes, and what it received is a success for
// the sender too, whenever that looks.
DUOFI_CONFORMANCE(a_receiver_closes_once_it_has_everything) {
    Net& net = Net::process();
    constexpr std::array<int, 4> kSizes = {20000, 8193, 200000, 100};
    for (int round = 0; round < amount(rank, 24); ++round) {
        Link link = connect_pair(rank, net);
        run_plan(rank, link, usual(7));
        rank.barrier();
        const int bytes = kSizes[static_cast<std::size_t>(round) % kSizes.size()];
        Plan plan;
        plan.seed = static_cast<std::uint64_t>(round);
        plan.add(bytes, bytes);
        plan.add(bytes, bytes);
        run_plan(rank, link, plan);
        link.recv.close();
        link.send.close();
    }
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
