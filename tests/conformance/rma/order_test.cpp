// What a signal promises about everything before it, and that hints change nothing: rma contract
// 3.7, 3.13, G-5, G-6, H-1, H-3, user report A17. The reader calls nothing of the table unless
// said.
#include <algorithm>
#include <deque>
#include <random>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

constexpr std::size_t kMost = 8 << 20;

// Mostly small, some around the thresholds, few of many megabytes.
std::size_t mixed_size(std::minstd_rand& random, std::size_t most) {
    constexpr std::array<std::size_t, 8> kEdges = {1, 64, 65, 128, 4096, 4097, 8192, 65537};
    switch (random() % 32) {
        case 0:
            return std::min(most, std::size_t{1} << 20);
        case 1:
            return std::min(most, 1 + random() % (256 << 10));
        default:
            return random() % 3 == 0 ? kEdges[random() % kEdges.size()] : 1 + random() % 6000;
    }
}

std::uint64_t stamp(int sender, std::uint64_t round, std::uint64_t op = 0) {
    return static_cast<std::uint64_t>(sender) * 1'000'000'007 + round * 997 + op;
}

// A17: a put of 1 B to 8 MiB, every byte stamped, then a strong signal of its own; once the reader
// sees the signal, it sees every byte.
DUOFI_RMA_CONFORMANCE(strong_signals_follow_earlier_puts) {
    RmaTeam team(rank, rma_of(rank));
    const std::size_t most = rank.count == 2 ? kMost : kMost / 8;
    RmaMemory out(team, most, 1);
    RmaMemory in(team, most);
    SignalWords words(team, 2);  // 0: data is there, 1: it was read
    std::minstd_rand random(7);  // the same sizes on all ranks
    const RmaStream on = team.on();
    const auto rounds = static_cast<std::uint64_t>(amount(rank, 2000, 20000));
    rank.barrier();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (round % 100 == 0) rank.step("round " + std::to_string(round));
        const std::size_t bytes = round % 500 == 250 ? most : mixed_size(random, most);
        fill_pattern(out.data(), bytes, stamp(team.index, round));
        void* put = post_put(on, copy(out, 0, bytes, in, 0, next_of(team)));
        void* signal = post_signal(on, nothing(next_of(team)), inc(words, 0));
        words.await(on, 0, round);
        const auto stale = first_mismatch(in.data(), bytes, stamp(previous_of(team), round));
        require(!stale, "round {}: byte {} of {} is stale", round, stale.value_or(0), bytes);
        void* read = post_signal(on, nothing(previous_of(team)), inc(words, 1));
        words.await(on, 1, round);
        for (void* request : {put, signal, read}) rma_wait(on, request);
    }
    rank.barrier();
}

struct Burst {
    std::size_t ops = 60;
    std::size_t slot = 0;
    bool hints = false;
};

// One burst: every operation has a slot of its own; signal k is sent behind operation 4k - 1. The
// reader checks, at the moment it sees signal k, everything that was sent before it.
void run_burst(Rank& rank, const RmaTeam& team, RmaMemory& out, RmaMemory& in, SignalWords& words,
               std::uint64_t round, const Burst& burst) {
    std::minstd_rand random(static_cast<unsigned>(round) + 1);
    std::vector<std::size_t> bytes(burst.ops);
    for (std::size_t& b : bytes) b = std::min(burst.slot, mixed_size(random, burst.slot));
    in.buffer.poison();
    for (std::size_t i = 0; i < burst.ops; ++i)
        fill_pattern(out.data() + i * burst.slot, bytes[i], stamp(team.index, round, i));
    const std::uint64_t before = words.load(0);
    rank.barrier();
    std::vector<void*> requests;
    for (std::size_t i = 0; i < burst.ops; ++i) {
        RmaPut put = copy(out, i * burst.slot, bytes[i], in, i * burst.slot, next_of(team));
        if (burst.hints)
            put.hints = static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 4);
        if (i % 4 != 3) {
            requests.push_back(post_put(team.on(), put));
        } else if (i % 8 == 3) {
            requests.push_back(post_signal(team.on(), put, inc(words, 0)));
        } else {
            requests.push_back(post_put(team.on(), put));
            RmaPut none = nothing(next_of(team));
            none.hints = put.hints;
            requests.push_back(post_signal(team.on(), none, inc(words, 0)));
        }
    }
    std::size_t checked = 0;
    const Deadline deadline(rma_patience());
    while (checked < burst.ops) {
        const std::size_t there = 4 * static_cast<std::size_t>(words.load(0) - before);
        require(there <= burst.ops, "more signals than were sent");
        for (; checked < there; ++checked) {
            const auto stale = first_mismatch(in.data() + checked * burst.slot, bytes[checked],
                                              stamp(previous_of(team), round, checked));
            require(!stale, "burst {}: operation {} ({} bytes) is stale", round, checked,
                    bytes[checked]);
        }
        require(!deadline.passed(), "burst {}: {} operations arrived", round, checked);
        // Each rank reads and sends: its own operations need its calls only where no peer is idle.
        if (!requests.empty() && rma_test(team.on(), requests.back())) requests.pop_back();
        relax();
    }
    rma_wait_all(team.on(), requests);
    rank.barrier();
}

// G-5, Q-2: bursts of 60 operations in flight.
DUOFI_RMA_CONFORMANCE(strong_signals_in_bursts) {
    RmaTeam team(rank, rma_of(rank));
    Burst burst;
    burst.slot = 300'000;
    RmaMemory out(team, burst.ops * burst.slot, 3);
    RmaMemory in(team, burst.ops * burst.slot);
    SignalWords words(team, 1);
    for (int round = 0; round < amount(rank, 30, 400); ++round)
        run_burst(rank, team, out, in, words, static_cast<std::uint64_t>(round), burst);
}

// G-5: far more operations than any queue below holds, so that most of them wait inside.
DUOFI_RMA_CONFORMANCE(strong_signals_behind_full_queues) {
    RmaTeam team(rank, rma_of(rank));
    Burst burst;
    burst.ops = static_cast<std::size_t>(amount(rank, 2000, 20000) / 4 * 4);
    burst.slot = 300;
    RmaMemory out(team, burst.ops * burst.slot, 3);
    RmaMemory in(team, burst.ops * burst.slot);
    SignalWords words(team, 1);
    for (int round = 0; round < 3; ++round)
        run_burst(rank, team, out, in, words, static_cast<std::uint64_t>(round), burst);
}

// H-1, H-3: any pattern of hints, unknown bits included, gives the same result.
DUOFI_RMA_CONFORMANCE(hints_change_nothing) {
    RmaTeam team(rank, rma_of(rank));
    Burst burst;
    burst.slot = 20'000;
    burst.hints = true;
    RmaMemory out(team, burst.ops * burst.slot, 3);
    RmaMemory in(team, burst.ops * burst.slot);
    SignalWords words(team, 1);
    for (int round = 0; round < amount(rank, 20, 400); ++round)
        run_burst(rank, team, out, in, words, static_cast<std::uint64_t>(round), burst);
}

// H-1: an operation that promises a successor completes although none comes.
DUOFI_RMA_CONFORMANCE(hinted_operations_complete_alone) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory window(team, 20000);
    SignalWords words(team, 1);
    const RmaStream on = team.on();
    rank.barrier();
    for (const std::uint32_t hints : {1U, 2U, 3U, 0xFFFFFFFFU, 0x80000000U}) {
        RmaPut put = copy(window, 0, 3000, window, 10000, next_of(team));
        put.hints = hints;
        rma_wait(on, post_put(on, put));
        rma_wait(on, post_signal(on, put, inc(words, 0)));
        rma_wait(on, post_get(on, put));
        void* hinted = post_put(on, put);
        rma_wait(on, post_flush(on, window.handle(), next_of(team)));  // F-4
        rma_wait(on, hinted);
    }
    rank.barrier();
    require(words.load(0) == 5, "{} of 5 hinted signals", words.load(0));
}

// G-5: a weak signal carries at least its own put; a later strong one everything before it.
DUOFI_RMA_CONFORMANCE(weak_signals_carry_their_own_put) {
    RmaTeam team(rank, rma_of(rank));
    constexpr std::size_t kSlot = 100'000;
    constexpr std::size_t kOps = 24;
    RmaMemory out(team, kOps * kSlot);
    RmaMemory in(team, kOps * kSlot);
    SignalWords words(team, kOps);
    std::minstd_rand random(3);
    for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(amount(rank, 20, 500));
         ++round) {
        std::array<std::size_t, kOps> bytes{};
        for (std::size_t& b : bytes) b = mixed_size(random, kSlot) % kSlot;
        for (std::size_t i = 0; i < kOps; ++i)
            fill_pattern(out.data() + i * kSlot, bytes[i], stamp(team.index, round, i));
        in.buffer.poison();
        rank.barrier();
        std::vector<void*> requests;
        for (std::size_t i = 0; i < kOps; ++i) {
            const bool strong = i + 1 == kOps || !team.rma->has_weak_signals();
            requests.push_back(
                post_signal(team.on(), copy(out, i * kSlot, bytes[i], in, i * kSlot, next_of(team)),
                            inc(words, i, strong)));
        }
        const auto check = [&](std::size_t i) {
            require(!first_mismatch(in.data() + i * kSlot, bytes[i],
                                    stamp(previous_of(team), round, i)),
                    "round {}: signal {} came before its own put", round, i);
        };
        for (std::size_t i = kOps; i-- > 0;) {  // the strong one first
            words.await(team.on(), i, round);
            check(i);
            for (std::size_t k = 0; i + 1 == kOps && k < kOps; ++k) {
                require(words.load(k) == round, "the last signal overtook signal {}", k);
                check(k);
            }
        }
        rma_wait_all(team.on(), requests);
        rank.barrier();
    }
}

// G-5, G-6: every earlier signal counts, too: a plain counter never runs behind the strong one.
DUOFI_RMA_CONFORMANCE(strong_signals_follow_earlier_signals) {
    RmaTeam team(rank, rma_of(rank));
    SignalWords words(team, 2);
    RmaMemory window(team, 70000);
    rank.barrier();
    const auto rounds = static_cast<std::uint64_t>(amount(rank, 400, 20000));
    std::deque<void*> requests;
    const bool weak = !team.rma->has_weak_signals();
    std::uint64_t sent = 0;
    const Deadline deadline(is_full(rank) ? 30 * rma_patience() : rma_patience());
    while (words.load(1) < rounds || sent < rounds) {
        if (sent < rounds && requests.size() < 100) {
            const std::size_t bytes = sent % 5 == 0 ? 30000 : 0;
            requests.push_back(post_signal(team.on(),
                                           copy(window, 0, bytes, window, 40000, next_of(team)),
                                           inc(words, 0, weak)));
            requests.push_back(post_signal(team.on(), nothing(next_of(team)), inc(words, 1, true)));
            ++sent;
        }
        const std::uint64_t strong = words.load(1);
        const std::uint64_t earlier = words.load(0);
        require(earlier >= strong, "{} strong signals, {} before them", strong, earlier);
        if (!requests.empty() && rma_test(team.on(), requests.front())) requests.pop_front();
        require(!deadline.passed(), "{} of {} signals arrived", strong, rounds);
    }
    while (!requests.empty()) {
        rma_wait(team.on(), requests.front());
        requests.pop_front();
    }
    rank.barrier();
}

}  // namespace
}  // namespace duofi::test
