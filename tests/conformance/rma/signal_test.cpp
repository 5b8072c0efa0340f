// Signals: rma contract 3.7, G-1 to G-4, G-7 to G-9.
#include <cstring>
#include <random>
#include <thread>

#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// G-1: a signal without data, with NULL handles, to everybody.
DUOFI_RMA_CONFORMANCE(signals_without_data) {
    RmaTeam team(rank, rma_of(rank));
    const auto ranks = static_cast<std::size_t>(team.count);
    SignalWords words(team, ranks);
    rank.barrier();
    const int rounds = amount(rank, 20, 200);
    for (int round = 0; round < rounds; ++round) {
        for (int to = 0; to < team.count; ++to) {
            rma_wait(team.on(), post_signal(team.on(), nothing(to),
                                            inc(words, static_cast<std::size_t>(team.index))));
        }
    }
    for (std::size_t from = 0; from < ranks; ++from)
        words.await(team.on(), from, static_cast<std::uint64_t>(rounds));
    rank.barrier();
}

// G-2: INC adds 1 whatever the value says; ADD wraps around at 2^64.
DUOFI_RMA_CONFORMANCE(increment_and_add) {
    RmaTeam team(rank, rma_of(rank));
    SignalWords words(team, 3);
    const RmaStream on = team.on();
    const std::vector<std::uint64_t> values = {42,
                                               0,
                                               1,
                                               std::uint64_t{1} << 32U,
                                               std::uint64_t{1} << 63U,
                                               ~std::uint64_t{0},
                                               0x123456789ABCDEF0ULL};
    for (const int to : {team.index, next_of(team)}) {
        rank.barrier();
        for (std::size_t word = 0; word < 3; ++word) words.store(word, 1000);
        rank.barrier();
        std::uint64_t sum = 1000;
        std::uint64_t count = 1000;
        for (const std::uint64_t value : values) {
            RmaSignal one = add(words, 0, value);
            rma_wait(on, post_signal(on, nothing(to), one));
            one = inc(words, 2);
            one.value = value;
            rma_wait(on, post_signal(on, nothing(to), one));
            rank.barrier();
            sum += value;
            ++count;
            require(words.load(0) == sum, "adding {:#x} gave {:#x}, not {:#x}", value,
                    words.load(0), sum);
            require(words.load(2) == count, "an increment gave {}, not {}", words.load(2), count);
            require(words.load(1) == 1000, "the word between was changed");
            rank.barrier();
        }
    }
}

// G-2, Q-5: any other operation is refused, and neither half is done.
DUOFI_RMA_CONFORMANCE(unknown_signal_operations) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 64);
    RmaMemory in(team, 64);
    SignalWords words(team, 1);
    out.buffer.fill(1);
    in.buffer.poison();
    rank.barrier();
    for (const int to : {team.index, next_of(team)}) {
        for (const std::uint32_t op : {0U, 3U, 4U, 0x99U, 0x80000001U}) {
            RmaSignal signal = inc(words, 0);
            signal.op = op;
            expect_refused(
                [&](void** r) {
                    return try_signal(team.on(), copy(out, 0, 8, in, 8, to), signal, r);
                },
                "an unknown operation");
            expect_refused([&](void** r) { return try_signal(team.on(), nothing(to), signal, r); },
                           "an unknown operation without data");
        }
    }
    rank.barrier();
    require(in.buffer.poisoned() && words.load(0) == 0, "a refused call did something");
    exchange_all(rank, team);
}

// G-3: aligned words within the target's region only; the first and the last of them work.
DUOFI_RMA_CONFORMANCE(signal_offsets_are_checked) {
    log_capture::expect_warn("");
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 64);
    RmaMemory in(team, 64);
    const std::size_t own_count = 4 + static_cast<std::size_t>(team.index);
    SignalWords words(team, own_count);
    out.buffer.fill(1);
    in.buffer.poison();
    rank.barrier();
    for (const int to : {team.index, next_of(team)}) {
        const std::uint64_t end = 8 * (4 + static_cast<std::uint64_t>(to));
        for (const std::uint64_t bad :
             {std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{7}, end, end + 8, end - 4,
              ~std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{1} << 63U}) {
            RmaSignal signal = inc(words, 0);
            signal.at = bad;
            expect_refused(
                [&](void** r) {
                    return try_signal(team.on(), copy(out, 0, 8, in, 8, to), signal, r);
                },
                "a bad signal offset");
            expect_refused([&](void** r) { return try_signal(team.on(), nothing(to), signal, r); },
                           "a bad signal offset without data");
        }
        RmaSignal no_region = inc(words, 0);
        no_region.region = nullptr;
        expect_refused([&](void** r) { return try_signal(team.on(), nothing(to), no_region, r); },
                       "a signal into no region");
    }
    rank.barrier();
    require(in.buffer.poisoned() && words.load(0) == 0, "a refused call did something");
    rank.barrier();
    for (const std::uint64_t at :
         {std::uint64_t{0}, 8 * (3 + static_cast<std::uint64_t>(next_of(team)))}) {
        RmaSignal signal = inc(words, 0);
        signal.at = at;
        rma_wait(team.on(), post_signal(team.on(), nothing(next_of(team)), signal));
    }
    words.await(team.on(), 0, 1);
    words.await(team.on(), own_count - 1, 1);
    rank.barrier();
}

// 6.2: the neighbours of a signal word keep their content.
DUOFI_RMA_CONFORMANCE(neighbours_of_a_signal_word) {
    RmaTeam team(rank, rma_of(rank));
    SignalWords words(team, 24);
    constexpr std::uint64_t kSentinel = 0xA5A5A5A5A5A5A5A5ULL;
    for (std::size_t i = 0; i < 24; ++i) words.store(i, i % 3 == 1 ? 0 : kSentinel);
    rank.barrier();
    for (std::size_t i = 1; i < 24; i += 3)
        rma_wait(team.on(), post_signal(team.on(), nothing(next_of(team)), add(words, i, 42)));
    rank.barrier();
    for (std::size_t i = 0; i < 24; ++i)
        require(words.load(i) == (i % 3 == 1 ? 42 : kSentinel), "word {} is {:#x}", i,
                words.load(i));
    rank.barrier();
}

// G-4: signals of all ranks, of several contexts, bundles and collComms into one word add up.
DUOFI_RMA_CONFORMANCE(concurrent_signals_add_up) {
    const Rma& rma = rma_of(rank);
    TeamOptions options;
    options.contexts = 2;
    RmaTeam one(rank, rma, options);
    RmaTeam two(rank, rma, options);
    std::vector<std::uint64_t> words(8, 0);
    RmaOwned in_one = register_rma(rma, one.coll.get(), words.data(), 64);
    RmaOwned in_two = register_rma(rma, two.coll.get(), words.data(), 64);
    RmaOwned second = open_context(rma, one.coll.get(), 1, 1);
    rank.barrier();
    const int each = amount(rank, 200, 3000);
    const auto flood = [&](const RmaStream& on, void* region) {
        std::vector<void*> requests;
        for (int i = 0; i < each; ++i) {
            for (int to = 0; to < one.count; ++to) {
                RmaSignal signal{24, region, 3, NCCL_NET_SIGNAL_OP_ADD,
                                 i % 3 == 0 || !rma.has_weak_signals()};
                if (i % 2 == 0) signal.op = NCCL_NET_SIGNAL_OP_INC;
                requests.push_back(post_signal(on, nothing(to), signal));
            }
        }
        rma_wait_all(on, requests);
    };
    // T-1: each bundle belongs to one thread.
    std::exception_ptr failed;
    std::thread other([&] {
        try {
            flood({&rma, one.coll.get(), second.get(), 0}, in_one.get());
        } catch (...) {
            failed = std::current_exception();
        }
    });
    try {
        flood(one.on(0), in_one.get());
        flood(one.on(1), in_one.get());
        flood(two.on(1), in_two.get());
    } catch (...) {
        if (!failed) failed = std::current_exception();
    }
    other.join();
    if (failed) std::rethrow_exception(failed);
    rank.barrier();
    const auto half = static_cast<std::uint64_t>(each / 2);
    const std::uint64_t per_flood = (static_cast<std::uint64_t>(each) - half) + 3 * half;
    const std::uint64_t due = 4 * per_flood * static_cast<std::uint64_t>(one.count);
    require(words[3] == due, "the sum is {}, not {}", words[3], due);
    require(words[2] == 0 && words[4] == 0, "a neighbour was changed");
    rank.barrier();
}

// G-4: 70,000 signals from one rank to one word, exactly.
DUOFI_RMA_CONFORMANCE(seventy_thousand_signals) {
    if (rank.count != 2) return;
    RmaTeam team(rank, rma_of(rank));
    SignalWords words(team, 1);
    RmaMemory window(team, 64);
    rank.barrier();
    const int count = is_slow(rank) || kSanitized ? 7000 : 70000;
    if (team.index == 0) {
        std::vector<void*> window_of(64, nullptr);
        for (int i = 0; i < count; ++i) {
            void*& slot = window_of[static_cast<std::size_t>(i) % window_of.size()];
            if (slot != nullptr) rma_wait(team.on(), slot);
            slot =
                post_signal(team.on(), i % 4 == 0 ? copy(window, 0, 8, window, 8, 1) : nothing(1),
                            inc(words, 0));
        }
        rma_wait_all(team.on(), window_of);
    }
    rank.barrier();
    require(words.load(0) == (team.index == 1 ? static_cast<std::uint64_t>(count) : 0),
            "{} signals arrived of {}", words.load(0), count);
    rank.barrier();
}

// G-8: the signal of a large put waits for all of it.
DUOFI_RMA_CONFORMANCE(signals_wait_for_large_puts) {
    RmaTeam team(rank, rma_of(rank));
    const std::size_t bytes = rank.count > 2 ? (2 << 20) : (8 << 20);
    RmaMemory out(team, bytes);
    RmaMemory in(team, bytes);
    SignalWords words(team, 1);
    for (int round = 0; round < amount(rank, 8, 100); ++round) {
        const auto seed = static_cast<std::uint64_t>(round) + 1;
        in.buffer.poison();
        fill_pattern(out.data(), bytes, seed);
        rank.barrier();
        void* request =
            post_signal(team.on(), copy(out, 0, bytes, in, 0, next_of(team)), inc(words, 0));
        words.await(team.on(), 0, seed);
        // The far end first: it arrives last.
        for (const std::size_t at : {bytes - 8, bytes / 2, std::size_t{0}}) {
            for (std::size_t i = at; i < at + 8; ++i)
                require(in.data()[i] == pattern_byte(seed, i), "byte {} came after the signal", i);
        }
        require(!first_mismatch(in.data(), bytes, seed), "the signal came before the data");
        rma_wait(team.on(), request);
        rank.barrier();
    }
}

// G-9: a signal word inside of the put's own range: the data first, then the addition.
DUOFI_RMA_CONFORMANCE(signals_inside_of_the_put) {
    RmaTeam team(rank, rma_of(rank));
    RmaMemory out(team, 4096);
    std::vector<std::uint64_t> in(512, 0);
    RmaOwned region = register_rma(*team.rma, team.coll.get(), in.data(), 4096);
    rank.barrier();
    for (const int to : {team.index, next_of(team)}) {
        for (std::uint64_t round = 1; round < 20; ++round) {
            const std::uint64_t word = round * 11 % 512;
            fill_pattern(out.data(), 4096, round);
            std::uint64_t due = 0;
            std::memcpy(&due, out.data() + 8 * word, 8);
            rank.barrier();
            RmaSignal signal{8 * word, region.get(), round, NCCL_NET_SIGNAL_OP_ADD, true};
            rma_wait(
                team.on(),
                post_signal(team.on(), {0, out.handle(), 4096, 0, region.get(), to, 0}, signal));
            rank.barrier();
            require(in[word] == due + round, "the word is {:#x}, not {:#x}", in[word], due + round);
        }
    }
}

}  // namespace
}  // namespace duofi::test
