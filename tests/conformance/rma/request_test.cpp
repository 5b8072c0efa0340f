// Requests and test: rma contract 3.5, 3.8, Q-1 to Q-7, E-1 to E-6, user report A15.
#include <algorithm>
#include <random>
#include <set>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// each success gives a request, whatever stood in its place and however little there is
// to do. The checks are in the driver.
DUOFI_RMA_CONFORMANCE(success_comes_with_a_request) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 4096);
    RmaMemory in(team, 4096);
    SignalWords words(team, 1);
    const RmaStream on = team.on();
    rank.barrier();
    for (const int to : {team.index, next_of(team)}) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}}) {
            for (int turn = 0; turn < 4; ++turn) {
                rma_wait(on, post_put(on, copy(out, 0, bytes, in, 0, to)));
                rma_wait(on, post_signal(on, copy(out, 0, bytes, in, 0, to), inc(words, 0)));
                rma_wait(on, post_get(on, copy(out, 0, bytes, in, 0, to)));
                rma_wait(on, post_flush(on, in.handle(), to));
            }
        }
    }
    rank.barrier();
}

// Q-2, A15: 2,000 puts and 2,000 signals without one call of test, while the peer calls nothing.
DUOFI_RMA_CONFORMANCE(nothing_is_refused_for_being_busy) {
    RmaTeam team(rank, rma_of(rank));
    const auto count = static_cast<std::size_t>(amount(rank, 2000, 20000));
    constexpr std::size_t kBytes = 96;
    RmaMemory out(team, count * kBytes);
    RmaMemory in(team, count * kBytes);
    SignalWords words(team, 1);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    in.buffer.poison();
    rank.barrier();
    std::vector<void*> requests;
    for (std::size_t i = 0; i < count; ++i)
        requests.push_back(
            post_put(team.on(), copy(out, i * kBytes, kBytes, in, i * kBytes, next_of(team))));
    for (std::size_t i = 0; i < count; ++i)
        requests.push_back(post_signal(team.on(), nothing(next_of(team)), inc(words, 0)));
    require(std::set<void*>(requests.begin(), requests.end()).size() == requests.size(),
            "two unfinished operations share a request");
    rank.barrier();
    rma_wait_all(team.on(), requests);
    rank.barrier();
    require(words.load(0) == count, "{} of {} signals arrived", words.load(0), count);
    require(
        !first_mismatch(in.data(), in.buffer.size(), static_cast<std::uint64_t>(previous_of(team))),
        "wrong data");
    rank.barrier();
}

// more requests at once than any caller's rings hold, to every rank.
DUOFI_RMA_CONFORMANCE(requests_grow_with_demand) {
    RmaTeam team(rank, rma_of(rank));
    const auto each = static_cast<std::size_t>(amount(rank, 400, 4096));
    RmaMemory window(team, 8192);
    SignalWords words(team, static_cast<std::size_t>(team.count));
    rank.barrier();
    std::vector<void*> requests;
    for (std::size_t i = 0; i < each; ++i) {
        for (int to = 0; to < team.count; ++to) {
            requests.push_back(post_signal(team.on(), copy(window, 0, 64, window, 4096, to),
                                           inc(words, static_cast<std::size_t>(team.index))));
        }
    }
    rma_wait_all(team.on(), requests);
    for (std::size_t from = 0; from < static_cast<std::size_t>(team.count); ++from)
        words.await(team.on(), from, each);
    rank.barrier();
}

// the multiplier of the queue depth.
DUOFI_RMA_CONFORMANCE(max_recvs_is_a_power_of_two) {
    const ncclNetProperties_v12_t properties = rma_of(rank).properties(0);
    const int n = properties.maxRecvs;
    require(n >= 1 && n <= 8 && (n & (n - 1)) == 0, "maxRecvs is {}", n);
}

// requests are tested in any order, and only some of them.
DUOFI_RMA_CONFORMANCE(requests_finish_in_any_order) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 1 << 18);
    RmaMemory in(team, 1 << 18);
    SignalWords words(team, 1);
    std::minstd_rand random(static_cast<unsigned>(rank.index) + 1);
    rank.barrier();
    std::uint64_t sent = 0;
    for (int round = 0; round < amount(rank, 10, 100); ++round) {
        std::vector<void*> requests;
        for (std::size_t i = 0; i < 60; ++i) {
            const std::size_t bytes = random() % 4 == 0 ? 100000 : random() % 3000;
            const RmaPut put = copy(out, 0, bytes, in, random() % 100000, next_of(team));
            switch (i % 3) {
                case 0:
                    requests.push_back(post_put(team.on(), put));
                    break;
                case 1:
                    requests.push_back(post_signal(team.on(), put, inc(words, 0))), ++sent;
                    break;
                default:
                    requests.push_back(
                        post_get(team.on(), copy(out, 100000 + i, 1000, in, 0, next_of(team))));
            }
        }
        std::shuffle(requests.begin(), requests.end(), random);
        const Deadline deadline(rma_patience());
        while (!requests.empty()) {
            const std::size_t at = random() % requests.size();
            if (rma_test(team.on(), requests[at]))
                requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(at));
            else
                relax();
            require(!deadline.passed(), "{} requests stay pending", requests.size());
        }
    }
    const auto all = rank.all_gather(sent);
    words.await(team.on(), 0, all[static_cast<std::size_t>(previous_of(team))]);
    rank.barrier();
}

// E-3, E-4, P-4, G-7: only the sender calls, only test; once that says done, the target's memory
// holds the data and the signal.
DUOFI_RMA_CONFORMANCE(done_means_applied_at_the_target) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 1 << 20);
    RmaMemory in(team, 1 << 20);
    SignalWords words(team, 1);
    const std::vector<std::size_t> sizes = {1, 64, 4097, 0, 65537, 1 << 20};
    std::uint64_t signals = 0;
    int turn = 0;
    for (int round = 0; round < amount(rank, 60, 1000); ++round) {
        const std::size_t bytes = sizes[static_cast<std::size_t>(round) % sizes.size()];
        const int sender = (turn++) % team.count;
        const int target = (sender + 1) % team.count;
        const bool with_signal = round % 2 == 0 || bytes == 0;
        const auto seed = static_cast<std::uint64_t>(round);
        if (team.index == target) in.buffer.poison();
        rank.barrier();
        if (team.index == sender) {
            fill_pattern(out.data(), bytes, seed);
            const RmaPut put = copy(out, 0, bytes, in, 0, target);
            rma_wait(team.on(), with_signal ? post_signal(team.on(), put, inc(words, 0))
                                            : post_put(team.on(), put));
        }
        rank.barrier();
        if (team.index == target) {
            require(!first_mismatch(in.data(), bytes, seed),
                    "a put of {} bytes was done before its data was there", bytes);
            if (with_signal) ++signals;
            require(words.load(0) == signals, "a put with signal was done at {} of {} signals",
                    words.load(0), signals);
        }
    }
    rank.barrier();
}

// E-4 for a crowd: many requests at once, each of them done, then one look.
DUOFI_RMA_CONFORMANCE(all_done_means_all_applied) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 700;
    constexpr std::size_t kCount = 100;
    RmaMemory out(team, kCount * kBytes);
    RmaMemory in(team, kCount * kBytes);
    SignalWords words(team, 1);
    for (int round = 0; round < amount(rank, 10, 200); ++round) {
        const auto seed = static_cast<std::uint64_t>(round);
        in.buffer.poison();
        fill_pattern(out.data(), out.buffer.size(), seed);
        rank.barrier();
        std::vector<void*> requests;
        for (std::size_t i = 0; i < kCount; ++i) {
            const RmaPut put = copy(out, i * kBytes, kBytes, in, i * kBytes, next_of(team));
            requests.push_back(i % 2 == 0 ? post_put(team.on(), put)
                                          : post_signal(team.on(), put, inc(words, 0)));
        }
        rma_wait_all(team.on(), requests);
        rank.barrier();
        require(!first_mismatch(in.data(), in.buffer.size(), seed), "done before applied");
        require(words.load(0) == (seed + 1) * kCount / 2,
                "a signal was done before it was applied");
        rank.barrier();
    }
}

// E-2: finished requests are used again; their number does not grow with the work.
DUOFI_RMA_CONFORMANCE(requests_are_recycled) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 128);
    rank.barrier();
    std::set<void*> seen;
    const int rounds = amount(rank, 1500, 100000);
    for (int i = 0; i < rounds; ++i) {
        void* request = post_put(team.on(), copy(window, 0, 64, window, 64, next_of(team)));
        seen.insert(request);
        rma_wait(team.on(), request);
    }
    require(seen.size() <= 64 + static_cast<std::size_t>(rounds) / 4,
            "{} requests for {} operations one by one", seen.size(), rounds);
    rank.barrier();
}

// E-2: a request that was told done is no request any more.
DUOFI_RMA_CONFORMANCE(a_finished_request_is_dead) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 128);
    rank.barrier();
    void* request = post_put(team.on(), copy(window, 0, 64, window, 64, next_of(team)));
    rma_wait(team.on(), request);
    int done = 7;
    const ncclResult_t result = (*team.rma)->test(team.coll.get(), request, &done);
    require(result == ncclInvalidArgument, "test of a finished request gave {}",
            result_name(result));
    exchange_all(rank, team);
}

// E-5: nothing is done.
DUOFI_RMA_CONFORMANCE(a_null_request_is_done) {
    RmaTeam team(rank, rma_of(rank));
    for (const int before : {0, 7}) {
        int done = before;
        expect_success((*team.rma)->test(team.coll.get(), nullptr, &done), "test of NULL");
        require(done == 1, "test of NULL wrote {}", done);
    }
    exchange_all(rank, team);
}

// E-6: test takes the requests of every context of the collComm.
DUOFI_RMA_CONFORMANCE(one_comm_tests_all_contexts) {
    TeamOptions options;
    options.contexts = 3;
    RmaTeam team(rank, rma_of(rank), options);
    RmaOwned second = open_context(*team.rma, team.coll.get(), 2, 1);
    RmaMemory window(team, 20000);
    rank.barrier();
    std::vector<void*> requests;
    for (int i = 0; i < 50; ++i) {
        RmaStream on = team.on(i % 3);
        if (i % 2 == 0) on = {team.rma, team.coll.get(), second.get(), i % 2};
        requests.push_back(post_put(on, copy(window, 0, 5000, window, 10000, next_of(team))));
    }
    std::reverse(requests.begin(), requests.end());
    rma_wait_all(team.on(), requests);
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
