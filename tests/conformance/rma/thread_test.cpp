// Threads of a caller and targets that call nothing: rma contract 3.1, T-1 to T-6, 3.11, L-15, user
// report A16.
#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// Runs two loops at once; the first failure is thrown when both ended.
template <typename First, typename Second>
void both(First first, Second second) {
    std::exception_ptr failed;
    std::thread other([&] {
        try {
            second();
        } catch (...) {
            failed = std::current_exception();
        }
    });
    std::exception_ptr mine;
    try {
        first();
    } catch (...) {
        mine = std::current_exception();
    }
    other.join();
    if (mine) std::rethrow_exception(mine);
    if (failed) std::rethrow_exception(failed);
}

// T-2: registrations and contexts come and go while the progress thread moves data.
DUOFI_RMA_CONFORMANCE(control_calls_beside_traffic) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 64 * 1024);
    RmaMemory in(team, 64 * 1024);
    SignalWords words(team, 1);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    const int rounds = amount(rank, 20, 300);
    const int messages = amount(rank, 200, 20000);
    both(
        [&] {
            for (int i = 0; i < messages; ++i) {
                rma_wait(team.on(),
                         post_signal(team.on(),
                                     copy(out, 0, static_cast<std::size_t>(i) * 37 % 65536, in, 0,
                                          next_of(team)),
                                     inc(words, 0)));
                expect_success((*team.rma)->progress(team.context.get()), "rmaProgress");
            }
        },
        [&] {
            for (int round = 0; round < rounds; ++round) {
                RmaMemory window(team, 5000 + static_cast<std::size_t>(round));
                RmaOwned context = open_context(*team.rma, team.coll.get(), 2, 1);
                SignalWords own(team, 1);
                const RmaStream on{team.rma, team.coll.get(), context.get(), round % 2};
                rma_wait(on, post_signal(on, copy(window, 0, 100, window, 1000, team.index),
                                         inc(own, 0)));
                bool failed = true;
                expect_success((*team.rma)->query_last_error(context.get(), &failed),
                               "queryLastError");
                require(!failed, "an error without a reason");
            }
        });
    rank.barrier();
    require(words.load(0) == static_cast<std::uint64_t>(messages), "{} of {} signals",
            words.load(0), messages);
    rank.barrier();
}

// T-1, T-3, 3.11: two bundles of one collComm, each with a thread of its own, both driving
// progress.
DUOFI_RMA_CONFORMANCE(a_thread_per_bundle) {
    RmaTeam team(rank, rma_of(rank));
    RmaOwned second = open_context(*team.rma, team.coll.get(), 1, 1);
    RmaMemory window(team, 60000);
    SignalWords words(team, 2);
    rank.barrier();
    const int messages = amount(rank, 200, 20000);
    const auto flood = [&](void* context, std::size_t word) {
        const RmaStream on{team.rma, team.coll.get(), context, 0};
        for (int i = 0; i < messages; ++i) {
            void* put =
                post_put(on, copy(window, 0, 2000, window, 20000 + 10000 * word, next_of(team)));
            void* signal = post_signal(on, nothing(next_of(team)), inc(words, word));
            expect_success((*on.rma)->progress(on.ctx), "rmaProgress");
            rma_wait(on, signal);
            rma_wait(on, put);
        }
    };
    both([&] { flood(team.context.get(), 0); }, [&] { flood(second.get(), 1); });
    rank.barrier();
    for (std::size_t word = 0; word < 2; ++word)
        require(words.load(word) == static_cast<std::uint64_t>(messages), "{} of {} signals",
                words.load(word), messages);
    rank.barrier();
}

// L-15, T-4: communicators made, used and ended by several threads at once.
DUOFI_RMA_CONFORMANCE(instances_from_several_threads) {
    const Rma& rma = rma_of(rank);
    const auto cycle = [&rma](std::uint64_t id) {
        for (int i = 0; i < 4; ++i) {
            RmaOwned instance = open_instance(rma, id);
            RmaOwned gin = open_instance(rma, id);
            require(rma.devices() > 0, "no device");
            (void)rma.properties(0);
            RmaListener listener = rma_listen(rma, instance.get());
            const std::vector<Handle> alone{listener.handle};
            void* comm = nullptr;
            expect_success(rma_connect(rma, instance.get(), alone, 0, listener.comm.get(), &comm),
                           "connect");
            RmaOwned coll = own_coll(rma, comm);
            listener.comm.close();
            RmaOwned context = open_context(rma, comm);
            std::uint64_t word = 0;
            RmaOwned region = register_rma(rma, comm, &word, 8);
            const RmaStream on{&rma, comm, context.get(), 0};
            RmaSignal signal{};
            signal.region = region.get();
            rma_wait(on, post_signal(on, nothing(0), signal));
            require(word == 1, "a signal to oneself is not there");
            region.close();
            context.close();
            coll.close();
            if (i % 2 == 0) gin.close();
            instance.close();
        }
    };
    both([&] { cycle(1); }, [&] { both([&] { cycle(2); }, [&] { cycle(2); }); });
    rank.barrier();
}

// T-6, A16: the target is away; put, signal and get complete all the same, each within a second.
DUOFI_RMA_CONFORMANCE(targets_that_call_nothing) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 1 << 20;
    RmaMemory out(team, kBytes);
    RmaMemory in(team, kBytes);
    SignalWords words(team, 1);
    out.buffer.fill(static_cast<std::uint64_t>(team.index) + 5);
    rank.barrier();
    for (int sender = 0; sender < team.count; ++sender) {
        if (sender == team.index) {
            for (int i = 0; i < 4; ++i) {
                const Nanoseconds start = now_ns();
                const RmaPut put = copy(out, 0, kBytes, in, 0, next_of(team));
                rma_wait(team.on(), i % 2 == 0 ? post_signal(team.on(), put, inc(words, 0))
                                               : post_put(team.on(), put));
                rma_wait(team.on(), post_get(team.on(), put));
                require(now_ns() - start < patience(2 * kSecond), "a passive target took {} ms",
                        (now_ns() - start) / kMillisecond);
            }
        }
        rank.barrier();
    }
    require(words.load(0) == 2, "{} of 2 signals", words.load(0));
    rank.barrier();
}

// A16: both sides put first, much, and only then look.
DUOFI_RMA_CONFORMANCE(everybody_sends_first) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kBytes = 1 << 20;
    const auto ranks = static_cast<std::size_t>(team.count);
    RmaMemory out(team, kBytes);
    RmaMemory in(team, ranks * kBytes);
    out.buffer.fill(static_cast<std::uint64_t>(team.index));
    rank.barrier();
    for (int round = 0; round < amount(rank, 4, 50); ++round) {
        std::vector<void*> requests;
        for (int to = 0; to < team.count; ++to)
            requests.push_back(post_put(
                team.on(),
                copy(out, 0, kBytes, in, static_cast<std::size_t>(team.index) * kBytes, to)));
        rma_wait_all(team.on(), requests);
    }
    rank.barrier();
    for (std::size_t from = 0; from < ranks; ++from)
        require(!first_mismatch(in.data() + from * kBytes, kBytes, from), "wrong data from rank {}",
                from);
    rank.barrier();
}

// 3.11: rmaProgress with nothing to do is cheap and never an error.
DUOFI_RMA_CONFORMANCE(idle_progress_is_cheap) {
    RmaTeam team(rank, rma_of(rank));
    rank.barrier();
    const int calls = amount(rank, 20000, 200000);
    const Nanoseconds start = now_ns();
    for (int i = 0; i < calls; ++i)
        expect_success((*team.rma)->progress(team.context.get()), "rmaProgress");
    const Nanoseconds each = (now_ns() - start) / calls;
    require(each < patience(100 * kMicrosecond) * rank.count, "idle progress takes {} ns", each);
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
